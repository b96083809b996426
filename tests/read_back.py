"""Reads a results folder with pyarrow, a reader that is not the writer, and checks what must hold in it."""

import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

folder = Path(sys.argv[1])
tables = {path.name: pq.read_table(path) for path in sorted(folder.glob("*.parquet"))}
assert len(tables) == 7, sorted(tables)

summary = tables["summary.parquet"].to_pylist()[0]
steps = summary["steps"]
assert summary["started"] == sum(summary[fate] for fate in ("applied", "rejected", "dropped", "cancelled", "lost", "rolled_back", "in_flight"))

histogram = tables["lag_histogram.parquet"]
for unit in ("versions", "seconds", "clocks"):
    rows = histogram.filter(pc.equal(histogram["unit"], unit))
    assert pc.sum(rows["count"]).as_py() == steps, unit
    assert pc.all(pc.less(rows["lower"], rows["upper"])).as_py(), unit
versions = histogram.filter(pc.equal(histogram["unit"], "versions"))
mean = pc.sum(pc.multiply(versions["lower"], versions["count"])).as_py() / steps
assert abs(mean - summary["lag_versions_mean"]) < 1e-9, (mean, summary["lag_versions_mean"])

assert pc.sum(tables["lag_joint.parquet"]["count"]).as_py() == steps
assert pc.sum(tables["participation.parquet"]["applied"]).as_py() == steps
assert abs(pc.sum(tables["lag_causes.parquet"]["share"]).as_py() - 1) < 1e-9
gradients = tables["gradients.parquet"]
assert gradients.num_rows == steps // 100
lag = pc.subtract(gradients["applied_ns"], gradients["read_ns"])
assert pc.max(pc.abs(pc.subtract(pc.divide(lag.cast("double"), 1e9), gradients["lag_s"]))).as_py() < 1e-6

for name, table in tables.items():
    metadata = {key.decode() for key in table.schema.metadata or {}} | {key.decode() for key in pq.read_metadata(folder / name).metadata}
    assert {"laggard.schema_version", "laggard.scenario", "laggard.scenario_hash", "laggard.seed", "laggard.units"} <= metadata, name
    print(f"{name}: {table.num_rows} rows, {table.num_columns} columns")
