//! The lives of gradients as a Chrome trace, which Perfetto and browsers show: a track for each worker, one for the server's steps, and arrows from
//! every read to its step.

use super::life::{Lives, parts};
use crate::cluster::{Fate, Gradient};
use crate::kernel::{Span, Time};
use serde_json::{Value, json};

/// The process of the workers, and that of the server.
const WORKERS: u32 = 1;
const SERVER: u32 = 2;
/// A step takes that long at least, in microseconds: an arrow needs something to end at.
const INSTANT_US: f64 = 0.001;

/// The trace as JSON, one event a line. Times are virtual; a trace has them in microseconds.
pub fn trace(lives: &Lives) -> String {
    let mut events = vec![named("process_name", WORKERS, 0, "workers"), named("process_name", SERVER, 0, "server")];
    events.extend((0..).zip(&lives.workers).map(|(number, name)| named("thread_name", WORKERS, number, name)));
    events.push(named("thread_name", SERVER, 0, "steps"));
    for (number, gradient) in lives.gradients.iter().enumerate() {
        events.extend(life(number, gradient, lives.until));
    }
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n"))
}

fn named(what: &str, process: u32, thread: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": what, "pid": process, "tid": thread, "args": { "name": name } })
}

fn micros(at: Time) -> f64 {
    at.nanos() as f64 / 1e3
}

/// A slice of a track.
fn slice(name: &str, (process, thread): (u32, u32), from: Time, span: Span, args: Value) -> Value {
    let least = if process == SERVER { INSTANT_US } else { 0.0 };
    let duration = (span.nanos() as f64 / 1e3).max(least);
    let (ts, category) = (micros(from), "gradient");
    json!({ "ph": "X", "name": name, "cat": category, "pid": process, "tid": thread, "ts": ts, "dur": duration, "args": args })
}

/// The events of one gradient. What waits at the server overlaps with others, and so is asynchronous there.
fn life(number: usize, gradient: &Gradient, until: Time) -> Vec<Value> {
    let all = parts(gradient);
    let busy = all[..3].iter().fold(Span::ZERO, |sum, (_, span)| sum + *span);
    let args = json!({
        "version_read": gradient.version_read,
        "version_applied": gradient.version_applied,
        "lag_versions": gradient.lag_versions(),
        "lag_s": gradient.lag().seconds(),
        "fate": gradient.fate.name(),
    });
    let name = format!("gradient {} of version {}", gradient.index, gradient.version_read);
    let own = (WORKERS, gradient.worker);
    let mut events = vec![slice(&name, own, gradient.read, busy, args)];
    let mut at = gradient.read;
    for (part, span) in all[..3].iter().filter(|(_, span)| *span > Span::ZERO) {
        events.push(slice(part, own, at, *span, json!({})));
        at = at + *span;
    }
    for (part, span) in all[3..].iter().filter(|(_, span)| *span > Span::ZERO) {
        let id = format!("{number}.{part}");
        for (phase, at) in [("b", at), ("e", at + *span)] {
            let ts = micros(at);
            events.push(
                json!({ "ph": phase, "name": part, "cat": "waiting", "id": id, "pid": SERVER, "tid": 1, "ts": ts }),
            );
        }
        at = at + *span;
    }
    if gradient.fate == Fate::Applied && gradient.ended <= until {
        let step = format!("version {}", gradient.version_applied + 1);
        events.push(slice(&step, (SERVER, 0), gradient.ended, Span::ZERO, json!({ "worker": gradient.worker })));
        for (phase, (process, thread), at) in [("s", own, gradient.read), ("f", (SERVER, 0), gradient.ended)] {
            let (name, ts) = ("lag", micros(at));
            events.push(json!({
                "ph": phase, "name": name, "cat": name, "id": number, "pid": process, "tid": thread, "ts": ts, "bp": "e",
            }));
        }
    }
    events
}
