//! Where a file comes from.

/// What every file says of its origin, in its footer, under `laggard.*`. Nothing of host, user or hour: equal runs give
/// equal bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    /// The resolved scenario.
    pub scenario: String,
    /// A hash of it and of the data that it reads.
    pub scenario_hash: u64,
    /// The seed.
    pub seed: u64,
    /// Which repeat under that seed.
    pub replication: u64,
    /// The fingerprint of the run; unknown while it is in progress.
    pub fingerprint: Option<u64>,
}

impl Stamp {
    /// Keys and values for a footer.
    pub fn pairs(&self, units: &str) -> Vec<(String, String)> {
        let mut pairs = vec![
            ("schema_version", "1".to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("scenario", self.scenario.clone()),
            ("scenario_hash", format!("{:016x}", self.scenario_hash)),
            ("seed", self.seed.to_string()),
            ("replication", self.replication.to_string()),
            ("units", units.to_owned()),
        ];
        pairs.extend(self.fingerprint.map(|fingerprint| ("fingerprint", format!("{fingerprint:016x}"))));
        pairs.into_iter().map(|(key, value)| (format!("laggard.{key}"), value)).collect()
    }
}
