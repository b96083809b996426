#!/usr/bin/env bash
# Makes the figures of docs/gallery.md and docs/theory.md from committed scenarios. Results go to out/gallery.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet
laggard() { target/debug/laggard "$@"; }
out=out/gallery
figures=docs/figures

# One figure of a run, or of a sweep: name in the gallery, scenario, name of the figure, and what else `report` is told.
figure() {
  local name=$1 scenario=$2 of=$3
  shift 3
  local verb=run
  case $scenario in */sweeps/*) verb=sweep ;; esac
  laggard "$verb" "$scenario" --out "$out/$name" --quiet
  laggard report "$out/$name" --svg "$out/$name/figures" --quiet "$@"
  cp "$out/$name/figures/$of.svg" "$figures/$name.svg"
}

laggard timeline scenarios/overshoot.ron --steps 13 --svg $figures/overshoot.svg 2> /dev/null
laggard timeline scenarios/protocols/k-async.ron --steps 10 --svg $figures/k-async.svg 2> /dev/null
figure versions-beside-seconds scenarios/network-and-server.ron lag_joint
figure causes scenarios/network-and-server.ron lag_causes
figure who-takes-part scenarios/failures/cutoff-erases-slow-clients.ron participation
figure where-time-went scenarios/training-through-failure/checkpoint-sync.ron worker_time
figure stability scenarios/sweeps/stability.ron loss_grid --show loss
figure ssp scenarios/sweeps/ssp-bound.ron throughput_per_s_curves --show throughput_per_s
figure checkpoints scenarios/sweeps/checkpoint-interval.ron time_s_curves --show time_s
