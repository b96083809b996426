//! A server in shards, for a person.

use super::number::{figure, maybe};
use super::plain_table;
use crate::cluster::ShardFigures;
use crate::record::Summary;

/// One row a shard, and how far apart they were.
pub fn shards(all: &[ShardFigures], summary: &Summary) -> String {
    let header =
        ["shard", "parameters", "version", "steps", "rejected", "mean lag versions", "mean lag s", "queue s", "undone"];
    let rows = all.iter().enumerate().map(|(number, shard)| {
        let counts =
            [shard.parameters as u64, shard.version, shard.steps, shard.rejected].map(|count| count.to_string());
        let means = [shard.lag_versions, shard.lag_s, shard.queue_s].map(maybe);
        let undone = shard.versions_lost.to_string();
        std::iter::once(number.to_string()).chain(counts).chain(means).chain([undone]).collect()
    });
    let table = plain_table(&header, rows);
    let spread = summary.shard_spread_mean.map_or(String::new(), |mean| {
        let most = maybe(summary.shard_spread_max);
        format!("; lags of the parts of a gradient differ by {} versions on average, {most} at most", figure(mean))
    });
    format!("{table} versions of shards differ by {} at most{spread}\n", maybe(summary.shard_skew_max))
}
