"""Opens pages of results in a browser: python tests/page.py FOLDER…, each a folder of results with its report.html.

Nothing may go wrong in the page, every figure must have its values, which must be those of the Parquet files beside it, and every choice must work by mouse and
by keyboard, in both themes and on a small screen. With --shots FOLDER, pictures of the pages are kept there.
"""

import argparse
import shutil
from pathlib import Path

import polars as pl
from playwright.sync_api import sync_playwright

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
FATES = ["applied", "rejected", "dropped", "cancelled", "lost", "rolled_back", "in_flight"]


def near(found, expected, relative=1e-6):
    assert abs(found - expected) <= relative * max(abs(expected), 1e-12), (found, expected)


def table(folder, name):
    path = folder / f"{name}.parquet"
    return pl.read_parquet(path) if path.exists() else None


def of_runs(folder, name, runs):
    rows = table(folder, name)
    return None if rows is None else rows.filter(pl.col("run").is_in(runs))


def check_histogram(figure, rows, unit):
    rows = rows.filter(pl.col("unit") == unit)
    groups = figure["drawing"]["groups"]
    assert len(groups) == rows["class"].n_unique()
    for group, name in zip(groups, rows["class"].unique(maintain_order=True)):
        own = rows.filter(pl.col("class") == name)
        near(sum(group["count"]), own["count"].sum(), 0)
        # Bins are taken together, never split: at each of their ends as many are below.
        for upper, below in zip(group["upper"], running(group["count"])):
            near(below, own.filter(pl.col("upper") <= upper * (1 + 1e-6))["count"].sum(), 0)


def running(values):
    total = 0
    for value in values:
        total += value
        yield total


def check_figures(folder, part, runs):
    figures = {figure["name"]: figure for figure in part["figures"]}
    lags = of_runs(folder, "lag_histogram", runs)
    if lags is not None:
        for unit in ("versions", "seconds", "clocks"):
            check_histogram(figures[f"lag_{unit}"], lags, unit)
    joint = of_runs(folder, "lag_joint", runs)
    if joint is not None:
        cells = figures["lag_joint"]["drawing"]["cells"]
        near(sum(cell[4] for cell in cells), joint["count"].sum(), 0)
        # Cells are taken together, never split: left of and below each of their corners as many lie.
        for _, right, _, top, _ in cells:
            found = sum(cell[4] for cell in cells if cell[1] <= right and cell[3] <= top)
            below = (pl.col("versions_upper") <= right * (1 + 1e-6)) & (pl.col("seconds_upper") <= top * (1 + 1e-6))
            near(found, joint.filter(below)["count"].sum(), 0)
    causes = of_runs(folder, "lag_causes", runs)
    if causes is not None:
        total = sum(sum(lengths) for _, lengths in figures["lag_causes"]["drawing"]["bars"])
        near(total, causes["mean_s"].sum() / len(runs), 1e-5)
    summary = of_runs(folder, "summary", runs)
    bars = figures["fates"]["drawing"]["bars"]
    near(sum(sum(lengths) for _, lengths in bars), sum(summary[fate].sum() for fate in FATES), 0)
    near(sum(sum(lengths) for _, lengths in bars), summary["started"].sum(), 0)
    loss = of_runs(folder, "trajectory", runs)
    if loss is not None:
        curve = figures["loss_time"]["drawing"]["curves"][0]
        first = loss.group_by("run").first()["loss"]
        near(curve["y"][0], first.mean(), 1e-5)
        assert len(runs) == 1 or len(curve["upper"]) == len(curve["x"])
    return figures


def check_drawn(page, figures):
    """What the charts and bars were given is what the figures have, and something was painted."""
    for name, figure in figures.items():
        kind = figure["drawing"]["kind"]
        if not page.locator(f"#{name}").count():
            assert name.startswith("loss_"), name
            continue
        if kind in ("curves", "histogram", "joint"):
            painted = page.evaluate(
                """name => { const c = document.querySelector(`#${name} canvas`);
                const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
                const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3]) seen.add(d[i] + "," + d[i+1] + "," + d[i+2]); return seen.size }""",
                name,
            )
            assert painted > 3, (name, painted)
        if kind == "curves":
            drawn = page.evaluate("name => laggard.charts.get(name).data[1].filter(v => v !== null)", name)
            assert drawn == [value for value in figure["drawing"]["curves"][0]["y"] if value is not None], name
        page.locator(f"#{name} summary").click()
        page.locator(f"#{name} .scroll").wait_for()
        rows = page.locator(f"#{name} .scroll tbody tr").count()
        expected = {
            "curves": lambda d: len({x for curve in d["curves"] for x in curve["x"]}),
            "histogram": lambda d: sum(len(group["count"]) for group in d["groups"]),
            "joint": lambda d: len(d["cells"]),
            "stacked": lambda d: len(d["bars"]),
        }[kind](figure["drawing"])
        assert rows == expected, (name, rows, expected)


def check_keys(page):
    """The cursor of a chart goes by arrow keys, and tells the value there."""
    chart = page.locator("#lag_versions .chart")
    if not chart.count():
        return
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    told = page.locator("#lag_versions .u-legend .u-value").first.inner_text()
    assert told not in ("", "–", "--"), told


def check_sweep(page, folder):
    cells = table(folder, "cells")
    selects = page.locator("#sweep select")
    quantities = page.evaluate("laggard.report.cells.quantities")
    axes = page.evaluate("laggard.report.cells.axes.map(axis => axis.name)")
    for quantity in ("lag_versions_mean", "lag_s_mean"):
        selects.nth(0).select_option(index=quantities.index(quantity))
        own = cells.filter(pl.col("quantity") == quantity)
        drawn = page.evaluate("laggard.charts.get('sweep_curves').data.slice(1)")
        lowest = [column[0] for column in drawn if column and column[0] is not None]
        # All other axes but that of the lines stand at their first label.
        still = [f"axis_{axis}" for place, axis in enumerate(axes) if place != 1]
        first = own.filter(pl.all_horizontal(pl.col(axis) == own[axis][0] for axis in still))
        assert first.height == (own[f"axis_{axes[1]}"].n_unique() if len(axes) > 1 else 1)
        for mean in first["mean"]:
            assert any(abs(mean - value) <= 1e-5 * max(1e-9, abs(mean)) for value in lowest), (quantity, mean)
        if len(axes) > 1:
            heat = page.locator("#sweep_grid td").all_inner_texts()
            assert len(heat) >= own.filter(pl.col("mean").is_not_null()).height / max(1, 10 ** max(0, len(axes) - 2))
            near(float(heat[0]), own["mean"][0], 1e-3)
    # By keyboard: the figure that is next.
    selects.nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelector('#sweep select').selectedIndex === %d" % (quantities.index("lag_s_mean") + 1))
    following = quantities[quantities.index("lag_s_mean") + 1]
    assert following in page.locator("#sweep_curves h2").inner_text()
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    if len(axes) > 1:
        selects.nth(1).select_option(index=1)
        assert axes[1] in page.locator("#sweep_curves h2").inner_text()


def check_losses(page):
    buttons = page.locator("#figures button")
    for place in range(buttons.count()):
        name = buttons.nth(place).inner_text()
        buttons.nth(place).focus()
        page.keyboard.press("Enter")
        assert page.locator(f"#loss_{name} canvas").count() == 1
        assert page.locator("#figures button").nth(place).get_attribute("aria-pressed") == "true"


def check(browser, folder, shots):
    wrong = []
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
    path = (folder / "report.html").resolve()
    page.goto(path.as_uri())
    report = page.evaluate("laggard.report")
    summary = table(folder, "summary")
    by_cell = summary.group_by("cell", maintain_order=True).agg("run")["run"].to_list() if "cell" in summary.columns else [summary["run"].to_list()]
    for part, runs in zip(report["parts"], by_cell, strict=True):
        figures = check_figures(folder, part, runs)
        if part is report["parts"][0]:
            check_drawn(page, figures)
    check_keys(page)
    check_losses(page)
    if report["cells"] and report["cells"]["axes"]:
        check_sweep(page, folder)
        if len(report["parts"]) > 1:
            page.locator("#chooser select").select_option(index=len(report["parts"]) - 1)
            check_drawn(page, {figure["name"]: figure for figure in report["parts"][-1]["figures"]})
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    for width, theme in ((1280, "dark"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if shots:
            page.screenshot(path=shots / f"{folder.name}-{width}-{theme}.png", full_page=True)
    assert path.stat().st_size < 1 << 20, f"{path}: {path.stat().st_size} bytes"
    assert not wrong, wrong
    page.close()
    print(f"{path.name} of {folder}: {len(report['parts'])} × figures as in the files")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folders", nargs="+", type=Path)
    arguments.add_argument("--shots", type=Path)
    given = arguments.parse_args()
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        for folder in given.folders:
            check(browser, folder, given.shots)
        browser.close()


main()
