//! `laggard report`.

use super::{Verdict, check_quantities, note, print};
use crate::error::{Error, Result};
use crate::output::{Results, SCENARIO, Table};
use crate::report::figures::{Cells, Detail, Figure, Tables, figures};
use crate::report::{self, Page, Part, Terminal, rounded};
use console::Term;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard run scenarios/pai.ron --out out/pai && laggard report out/pai       the page is out/pai/report.html
  laggard report out/pai --svg out/pai/figures                                each figure as a file, for papers
  laggard report out/sweep --svg figures --show lag_s_mean --along workers    of a sweep: one figure along an axis")]
pub struct Options {
    /// The folder with the results of `run`, `sweep` or `tune`
    folder: PathBuf,
    /// Write the page to this file [default: report.html in the folder]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write each figure as an SVG file into this folder, in place of the page
    #[arg(long, value_name = "FOLDER", conflicts_with = "html")]
    svg: Option<PathBuf>,
    /// Of a sweep: the figures to draw, by their names in the summary
    #[arg(long, value_delimiter = ',', default_value = "throughput_per_s,lag_versions_mean,lag_s_mean,loss")]
    show: Vec<String>,
    /// Of a sweep: the axis to draw along [default: the first]
    #[arg(long, value_name = "AXIS")]
    along: Option<String>,
    /// Pixels from left to right of an SVG file
    #[arg(long, default_value_t = 760, value_parser = clap::value_parser!(u32).range(320..=20_000))]
    width: u32,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// A page of more combinations would be too large to read, and to send.
const MOST_PARTS: usize = 200;
/// Points of the lines of all combinations: where there are many, each is drawn with less, so that a page of a hundred is below a mebibyte.
const POINTS: usize = 1500;

/// What was read.
struct Read {
    results: Results,
    tables: Tables,
    cells: Option<Cells>,
    tuned: Option<Table>,
    /// What each combination is called, and which runs it has.
    parts: Vec<(String, Vec<f64>)>,
}

const WITHOUT_AXES: &str = "--along: these results have no axes; leave it out, or name a folder of a sweep";

pub fn report(options: &Options) -> Result<Verdict> {
    check_quantities("--show", &options.show)?;
    let read = read(&options.folder)?;
    if options.along.is_some() && read.cells.as_ref().is_none_or(|cells| cells.axes.is_empty()) {
        return Err(Error::Invalid(WITHOUT_AXES.to_owned()));
    }
    match &options.svg {
        Some(folder) => svgs(options, &read, folder)?,
        None => page(options, &read)?,
    }
    Ok(Verdict::Fine)
}

fn read(folder: &Path) -> Result<Read> {
    let results = Results::open(folder)?;
    let table = |name, columns| results.table_with(name, columns).map(Option::unwrap_or_default);
    let tables = Tables {
        summary: table("summary.parquet", &["run"])?,
        histogram: table("lag_histogram.parquet", &["run", "class", "unit", "lower", "upper", "count"])?,
        joint: table("lag_joint.parquet", &["run", "count"])?,
        causes: table("lag_causes.parquet", &["run", "class", "cause", "mean_s"])?,
        participation: table("participation.parquet", &["run", "class", "worker"])?,
        trajectory: table("trajectory.parquet", &["run", "time_s", "updates", "loss", "cost"])?,
    };
    let of_cells = ["cell", "quantity", "mean", "lower", "upper"];
    let cells = results.table_with("cells.parquet", &of_cells)?.map(|table| Cells::read(&table));
    let tuned = results.table_with("tune.parquet", &["by", "rank"])?;
    let runs: Vec<f64> = tables.summary.numbers("run").iter().flatten().copied().collect();
    let parts = match &cells {
        None => vec![("the run".to_owned(), runs)],
        Some(cells) => {
            let of = tables.summary.numbers("cell");
            let mut own: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            runs.iter().zip(&*of).for_each(|(run, cell)| own.entry(cell.unwrap_or(0.0) as u64).or_default().push(*run));
            let named = cells.numbers.iter().enumerate();
            named.map(|(place, number)| (cells.name(place), own.remove(number).unwrap_or_default())).collect()
        }
    };
    Ok(Read { results, tables, cells, tuned, parts })
}

impl Read {
    fn figures(&self, runs: &[f64]) -> Vec<Figure> {
        let points = (POINTS / self.parts.len().max(1)).clamp(16, 80);
        figures(&self.tables, runs, Detail { points, level: LEVEL })
    }

    fn name(&self) -> String {
        let path = self.results.path();
        path.file_name()
            .or(path.canonicalize().ok().as_deref().and_then(Path::file_name))
            .map_or("results".into(), |name| name.to_string_lossy().into_owned())
    }

    fn axis(&self, cells: &Cells, along: Option<&String>) -> Result<usize> {
        let Some(along) = along else { return Ok(0) };
        let names: Vec<&str> = cells.axes.iter().map(|axis| axis.name.as_str()).collect();
        names.iter().position(|name| name == along).ok_or_else(|| {
            let help = crate::scenario::suggest(along, &names, "the axes are");
            Error::Invalid(format!("--along: no axis is called `{along}`; {help}"))
        })
    }
}

/// The level of intervals over repeats that a page makes itself.
const LEVEL: f64 = 0.95;

/// Every figure as a file.
fn svgs(options: &Options, read: &Read, folder: &Path) -> Result<()> {
    let all = match &read.cells {
        Some(cells) if !cells.axes.is_empty() => chosen(options, read, cells)?,
        _ => read.parts.first().map(|(_, runs)| read.figures(runs)).unwrap_or_default(),
    };
    std::fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
    for figure in &all {
        let path = folder.join(format!("{}.svg", figure.name));
        let text = report::svg(figure, options.width)?;
        std::fs::write(&path, text).map_err(|source| Error::io(&path, source))?;
        if !options.quiet {
            note(&format!("{}: {}\n", path.display(), figure.title));
        }
    }
    Ok(())
}

fn page(options: &Options, read: &Read) -> Result<()> {
    let path = options.html.clone().unwrap_or_else(|| read.results.path().join("report.html"));
    let kept = &read.parts[..read.parts.len().min(MOST_PARTS)];
    let parts: Vec<Part> =
        kept.iter().map(|(name, runs)| Part { name: name.clone(), figures: read.figures(runs) }).collect();
    let page = Page {
        title: read.name(),
        lead: lead(read),
        facts: facts(read),
        cells: read.cells.clone(),
        shown: options.show.first().cloned().unwrap_or_default(),
        level: LEVEL,
        parts,
        command: command(read),
        scenario: read.results.footer("scenario").to_owned(),
        foot: format!("laggard {}, scenario {}", read.results.footer("version"), read.results.footer("scenario_hash")),
    };
    let text = report::page(&page)?;
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(&path, &text)).map_err(|source| Error::io(&path, source))?;
    if read.parts.len() > MOST_PARTS {
        note(&format!(
            "of {} combinations the first {MOST_PARTS} have figures of their own in the page\n",
            read.parts.len()
        ));
    }
    if !options.quiet {
        print(&in_small(options, read, &page)?)?;
        note(&format!("{}: {}\n", path.display(), report::bytes(text.len() as f64)));
    }
    Ok(())
}

/// The same for the terminal: key figures, and the figures of the sweep, or of the run.
fn in_small(options: &Options, read: &Read, page: &Page) -> Result<String> {
    let facts: String = page.facts.iter().map(|(label, value)| format!("{value:>24}  {label}\n")).collect();
    let drawn = match &read.cells {
        Some(cells) if !cells.axes.is_empty() => chosen(options, read, cells)?,
        _ => page.parts.first().map_or(Vec::new(), |part| part.figures.clone()),
    };
    let stdout = Term::stdout();
    let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = columns.or(stdout.size_checked().map(|(_, columns)| usize::from(columns))).unwrap_or(80);
    let terminal = Terminal { width: width.clamp(40, 160), colour: stdout.is_term() && !asked_for_none };
    let figures: String = drawn.iter().map(|figure| report::small(figure, terminal)).collect();
    Ok(format!("{}\n{facts}\n{figures}", page.lead))
}

/// Of a sweep, the pictures of the figures that are asked for, along the axis that is.
fn chosen(options: &Options, read: &Read, cells: &Cells) -> Result<Vec<Figure>> {
    let x = read.axis(cells, options.along.as_ref())?;
    let by = (0..cells.axes.len()).find(|axis| *axis != x);
    let known = |name| cells.quantities.iter().position(|known| known == name);
    Ok(options.show.iter().filter_map(known).flat_map(|quantity| cells.figures_of(quantity, x, by)).collect())
}

/// What the results are of.
fn lead(read: &Read) -> String {
    let runs = read.tables.summary.rows();
    match &read.cells {
        None => "One run. Lags are those of gradients when they were applied; a fresh gradient has lag 0.".to_owned(),
        Some(cells) => format!(
            "A {}: {} combinations, {runs} runs. Lags are those of gradients when they were applied.",
            if read.tuned.is_some() { "tuning" } else { "sweep" },
            cells.numbers.len()
        ),
    }
}

/// How the same results are made again.
fn command(read: &Read) -> String {
    let verb = match (&read.cells, &read.tuned) {
        (None, _) => "run",
        (_, Some(_)) => "tune",
        _ => "sweep",
    };
    let file = read.results.path().join(SCENARIO);
    let replication = read.results.footer("replication");
    match verb {
        "run" => format!("laggard run {} --replication {replication} --out again", file.display()),
        _ => format!(
            "laggard {verb} SWEEP.ron --out again    (the text below, in a file beside the scenario that it names)"
        ),
    }
}

/// Of a tuning, the best candidates: by what, and which they are.
fn best(tuned: &Table) -> Vec<(String, String)> {
    let axes: Vec<&str> = tuned.columns.iter().filter_map(|column| column.name.strip_prefix("axis_")).collect();
    let name = |row: usize| {
        let parts = axes.iter().map(|axis| format!("{axis} {}", tuned.texts(&format!("axis_{axis}"))[row]));
        parts.collect::<Vec<_>>().join(", ")
    };
    let (rank, by) = (tuned.texts("rank"), tuned.texts("by"));
    let rows = (0..rank.len()).filter(|&row| rank[row] == "best");
    rows.map(|row| (format!("best by {}", by[row]), name(row))).collect()
}

/// Key figures, of a run or over all runs.
fn facts(read: &Read) -> Vec<(String, String)> {
    let summary = &read.tables.summary;
    let mut facts = Vec::new();
    if read.cells.is_some() {
        facts.push(("runs".to_owned(), summary.rows().to_string()));
    }
    let range = |name: &str| {
        let values: Vec<f64> = summary.numbers(name).iter().flatten().copied().collect();
        let (low, high) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        Some(if low == high { rounded(low) } else { format!("{} to {}", rounded(low), rounded(high)) })
    };
    let wanted = [
        ("workers", "workers"),
        ("steps", "optimiser steps"),
        ("time_s", "virtual seconds"),
        ("throughput_per_s", "steps a second"),
        ("lag_versions_mean", "mean lag, versions"),
        ("lag_s_mean", "mean lag, seconds"),
        ("lag_versions_p99", "99 % of lags, versions"),
        ("lag_s_p99", "99 % of lags, seconds"),
        ("lag_correlation", "correlation of the two"),
        ("loss", "loss at the end"),
        ("time_to_loss_s", "seconds to the loss"),
        ("effective_share", "of the workers' time was of use"),
        ("cost", "cost"),
    ];
    facts.extend(wanted.into_iter().filter_map(|(name, label)| Some((label.to_owned(), range(name)?))));
    facts.extend(read.tuned.iter().flat_map(best));
    let mut ended: Vec<&String> = summary.texts("ended").iter().collect();
    ended.dedup();
    ended.truncate(3);
    if let [one] = ended[..] {
        facts.push(("ended by".to_owned(), one.clone()));
    }
    facts
}
