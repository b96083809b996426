//! `laggard tune`.

use super::sweep::{Results, describe, shortfall, watch};
use super::{Jobs, Verdict, changes, estimate_json, kept_in, note, print, read};
use crate::error::Result;
use crate::report;
use crate::study::{Choice, Goal, Plan, Progress, execute};
use rayon::ThreadPool;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  laggard tune scenarios/sweeps/tuned-tails.ron --over learning_rate --by time_to_loss_s --out out/tuned")]
pub struct Options {
    /// The sweep, a RON file
    file: PathBuf,
    /// The axes whose best values are wanted, for each combination of the others
    #[arg(long, value_name = "AXES", value_delimiter = ',', default_value = "learning_rate")]
    over: Vec<String>,
    /// The figure to make least, by its name in the summary
    #[arg(long, value_name = "FIGURE", default_value = "time_to_loss_s")]
    by: String,
    /// How often to try learning rates halfway between the best and those beside it
    #[arg(long, value_name = "TIMES", default_value_t = 2)]
    refine: u8,
    /// The folder of the results; the same command continues where it stopped
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Change fields of the scenario in all runs, as in --set 'stop: (updates: 1000)'
    #[arg(long = "set", value_name = "FIELDS")]
    changes: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
    /// Print the choices as JSON
    #[arg(long)]
    json: bool,
    /// Print nothing but errors and, with --json, the choices
    #[arg(long, short)]
    quiet: bool,
}

pub fn tune(options: &Options) -> Result<Verdict> {
    let plan = Plan::new(&read(&options.file)?, &changes(&options.changes)?)?;
    let goal = Goal::new(&plan, &options.over, &options.by)?;
    let (all, pool) = (0..plan.cells.len(), options.jobs.pool()?);
    let text = describe(&plan, &all, &pool)?;
    if !options.quiet {
        note(&text);
    }
    let mut results = Results::open(plan, &options.out, &options.file)?;
    let progress = Progress::default();
    let mut choices = None;
    if !watch(options.quiet, &progress, || search(&mut results, &goal, options.refine, &pool, &progress, &mut choices))?
    {
        return Ok(results.interrupted(&progress));
    }
    let choices = choices.unwrap_or_default();
    let (plan, cells) = results.publish(&pool, |plan, _| Some(goal.table(plan, &choices)))?;
    if options.json {
        print(&format!("{}\n", Value::Array(choices.iter().map(|choice| to_json(&plan, &goal, choice)).collect())))?;
    } else if !options.quiet {
        print(&report::choices(&plan, &goal, &choices))?;
        note(&kept_in(&options.out));
    }
    let ends_by_loss = plan.prepare(0, 0)?.scenario.stop.loss.is_some();
    if ends_by_loss && ["loss", "distance"].contains(&options.by.as_str()) {
        note(
            "warning: runs end at the loss of `stop`; to ask how low it gets, take that out: --set 'stop: (loss: None)'\n",
        );
    }
    note(&(shortfall(&plan, &cells) + &warnings(&plan, &goal, &choices)));
    Ok(Verdict::Fine)
}

/// Runs the plan, and what refines it. True if it came to its end.
fn search(
    results: &mut Results,
    goal: &Goal,
    refine: u8,
    pool: &ThreadPool,
    progress: &Progress,
    found: &mut Option<Vec<Choice>>,
) -> Result<bool> {
    let mut done = 0;
    for round in 0..=refine {
        let all = results.plan.cells.len();
        if !execute(&results.plan, &results.journal, done..all, pool, progress)? {
            return Ok(false);
        }
        done = all;
        let choices = goal.choices(&results.plan, &results.journal)?;
        if round < refine {
            goal.refine(&mut results.plan, &choices);
        }
        *found = Some(choices);
    }
    Ok(true)
}

/// Warnings of choices whose best value may lie beyond those tried, an axis at a time, and of goals that were hardly or never reached.
fn warnings(plan: &Plan, goal: &Goal, choices: &[Choice]) -> String {
    let mut text = String::new();
    for &axis in &goal.over {
        let at_edge = |choice: &&Choice| choice.edges.contains(&axis);
        let label = |choice: &Choice| choice.best().map(|best| plan.cells[best.cell].labels[axis].as_str());
        let mut labels: Vec<&str> = choices.iter().filter(at_edge).filter_map(label).collect();
        let count = labels.len();
        labels.dedup();
        if count > 0 {
            text += &format!(
                "warning: in {count} of {} choices the best {} is the last one tried on its side ({}); try beyond it\n",
                choices.len(),
                plan.axes[axis],
                labels.join(", ")
            );
        }
    }
    let never = choices.iter().filter(|choice| choice.best().is_none()).count();
    if never > 0 {
        text += &format!("warning: in {never} of {} choices no run has {}{}\n", choices.len(), goal.by, hint(&goal.by));
    }
    let rarely =
        |choice: &&Choice| choice.best().is_some_and(|best| best.estimate.map_or(0, |known| known.n) * 2 < best.runs);
    let rare = choices.iter().filter(rarely).count();
    if rare > 0 {
        text += &format!(
            "warning: in {rare} of {} choices fewer than half of the best one's runs have {}\n",
            choices.len(),
            goal.by
        );
    }
    text
}

/// What a figure needs to be there.
fn hint(by: &str) -> &'static str {
    match by {
        "cost" => "; give price_per_hour",
        "cost_to_loss" => "; give price_per_hour and stop: (loss: …), and time enough",
        _ if by.ends_with("_to_loss") || by.ends_with("_to_loss_s") => "; give stop: (loss: …), and time enough",
        _ => "",
    }
}

fn to_json(plan: &Plan, goal: &Goal, choice: &Choice) -> Value {
    let object = |axes: &mut dyn Iterator<Item = usize>, cell: usize| -> Value {
        Value::Object(
            axes.map(|axis| (plan.axes[axis].clone(), plan.cells[cell].labels[axis].as_str().into())).collect(),
        )
    };
    let tuned = |cell: usize| object(&mut goal.over.iter().copied(), cell);
    let rest = |cell: usize| object(&mut (0..plan.axes.len()).filter(|axis| !goal.over.contains(axis)), cell);
    let edges: Vec<&String> = choice.edges.iter().map(|&axis| &plan.axes[axis]).collect();
    let candidates: Vec<Value> = choice
        .candidates
        .iter()
        .map(|candidate| {
            json!({
                "cell": candidate.cell,
                "values": tuned(candidate.cell),
                "runs": candidate.runs,
                "figure": candidate.estimate.as_ref().map(estimate_json),
                "median": candidate.median.map(|median| median.value),
                "rank": candidate.rank.name(),
            })
        })
        .collect();
    json!({
        "axes": rest(choice.candidates[0].cell),
        "by": goal.by,
        "best": choice.best().map(|best| tuned(best.cell)),
        "at_the_edge": edges,
        "candidates": candidates,
    })
}
