"""Runs laggard for the notebooks, and reads what it wrote."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import polars as pl

HOME = Path(__file__).resolve().parent.parent
OUT = HOME / "out" / "notebooks"


def program() -> str:
    """The program: $LAGGARD, or what cargo built here, or what is installed."""
    built = [HOME / "target" / kind / "laggard" for kind in ("release", "debug")]
    newest = max((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime, default=None)
    found = os.environ.get("LAGGARD") or newest or shutil.which("laggard")
    if not found:
        raise FileNotFoundError("no laggard: build it with `cargo build`")
    return str(found)


def laggard(*arguments) -> str:
    """What a command prints; an exception with its message if it fails. Paths are relative to the project."""
    command = [program(), *map(str, arguments)]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:])}\n{done.stderr or done.stdout}")
    return done.stdout


def run(scenario, *arguments, name) -> Path:
    """Runs a scenario into a folder of its own."""
    folder = OUT / name
    laggard("run", scenario, "--quiet", "--out", folder, *arguments)
    return folder


def sweep(file, *arguments, name) -> Path:
    """Makes a sweep, from the beginning."""
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    laggard("sweep", file, "--quiet", "--out", folder, *arguments)
    return folder


def tune(file, *arguments, name) -> Path:
    """Tunes a sweep, from the beginning: table(…, "tune") has the candidates with their ranks."""
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    laggard("tune", file, "--quiet", "--out", folder, *arguments)
    return folder


def summary(scenario, *arguments) -> dict:
    """The summary of a run, without files."""
    return json.loads(laggard("run", scenario, "--quiet", "--json", *arguments))


def table(folder, name) -> pl.DataFrame:
    """A table of a results folder."""
    return pl.read_parquet(Path(folder) / f"{name}.parquet")


def cells(folder, quantity) -> pl.DataFrame:
    """Of a sweep, one figure in every combination: mean, lower, upper …"""
    return table(folder, "cells").filter(pl.col("quantity") == quantity)
