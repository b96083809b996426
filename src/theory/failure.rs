//! What losses, detection and replication cost. Messages take `hop_s` one way.

/// Mean and variance of how long a message takes that is lost with probability q each time, and sent again `timeout_s` after each time:
/// hop + timeout q / (1 − q), and timeout² q / (1 − q)² (a geometric number of losses).
pub fn lossy_message_s(hop_s: f64, loss: f64, timeout_s: f64) -> (f64, f64) {
    let again = loss / (1.0 - loss);
    (hop_s + timeout_s * again, timeout_s * timeout_s * again / (1.0 - loss))
}

/// What losses leave of the throughput of a worker whose cycle takes `cycle_s` on average without them.
pub fn lossy_throughput(cycle_s: f64, loss: f64, timeout_s: f64) -> f64 {
    cycle_s / (cycle_s + timeout_s * loss / (1.0 - loss))
}

/// The shortest, mean and longest time from a crash to its suspicion, where something sends a sign of life every `period_s`, and is suspected
/// when none has come for `timeout_s`, which is longer: the timeout less the time since the last sign of life.
pub fn detection_s(period_s: f64, timeout_s: f64) -> (f64, f64, f64) {
    (timeout_s - period_s, timeout_s - period_s / 2.0, timeout_s)
}

/// A chain of servers without load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// From sending an update, through all replicas, to its answer.
    pub update_s: f64,
    /// From sending a query, to the tail, to its answer.
    pub query_s: f64,
    /// How many updates a second it can take.
    pub updates_per_s: f64,
}

/// Chain replication over `replicas` servers that need `processing_s` each: (n + 1) hops and n times processing for an update, two hops and one
/// processing for a query (van Renesse and Schneider, 2004).
pub fn chain(replicas: u64, processing_s: f64, hop_s: f64) -> Chain {
    let n = replicas as f64;
    Chain {
        update_s: (n + 1.0) * hop_s + n * processing_s,
        query_s: 2.0 * hop_s + processing_s,
        updates_per_s: 1.0 / processing_s,
    }
}

/// How long a failure is felt once it is known, in one-way messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Updates, when the head of a chain fails.
    pub head: u64,
    /// Updates, when one between fails; queries go on.
    pub middle: u64,
    /// Updates and queries, when the tail fails.
    pub tail: u64,
    /// With a primary and backups instead: when the primary fails.
    pub primary: u64,
    /// When a backup fails.
    pub backup: u64,
}

/// As van Renesse and Schneider (2004) count it, for chains of any length.
pub const OUTAGE: Outage = Outage { head: 2, middle: 4, tail: 2, primary: 5, backup: 1 };
