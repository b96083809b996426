//! What is seen of a run. A recorder only reads: a run is the same, event for event, whatever is recorded of it.

mod histogram;
mod joint;
mod lag;
mod steady;
mod summary;
mod timeline;
mod trajectory;
mod vain;

pub use histogram::{Bin, Histogram, Moments};
pub use joint::{Cell, Joint};
pub use lag::{ClassLags, Lags};
pub use steady::{Cut, Mark, WarmUp};
pub use summary::{Spread, Summary, WorkerTime};
pub use timeline::{Answer, Row, WHAT_IF, WhatIf, Which};
pub use trajectory::{Point, Sampling, Trajectory};
pub use vain::Vain;

use crate::catalogue::{Entry, entry};
use crate::cluster::{Fate, Gradient, Incident, Observer, Simulation, Step};
use crate::error::Result;
use crate::kernel::{Span, Time};
use crate::units::Count;
use crate::vector::distance;
use serde::{Deserialize, Serialize};

/// What to record of a run besides lags, causes, fates and participation, which are recorded always.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Which gradients get a row of their own in `gradients.parquet`.
    pub gradients: Gradients,
    /// How often the loss is sampled.
    pub trajectory: Sampling,
    /// How many of the first steps are printed one by one.
    pub timeline: u32,
    /// Single steps to be taken again, otherwise.
    pub what_if: Vec<WhatIf>,
    /// What is left out of lags, causes and rates.
    pub warm_up: WarmUp,
    /// How many steps there are in a batch, for intervals by batch means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Count>,
}

/// Which gradients get a row of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Gradients {
    /// No gradient.
    #[default]
    Off,
    /// Every gradient, those rejected and those in flight at the end included.
    All,
    /// The gradient of every so-many-th step.
    Every(Count),
    /// The gradients of the steps from the `first`-th to the `last`-th.
    Window {
        /// The first step, counted from 1.
        first: Count,
        /// The last step.
        last: Count,
    },
}

impl Gradients {
    /// Every choice, in the order of the enum.
    pub const CATALOGUE: &[Entry] = &[
        entry("Off", "no rows of single gradients", "Off"),
        entry("All", "every gradient, whatever its fate", "All"),
        entry("Every", "the gradient of every so-many-th step of the run", "Every(100)"),
        entry("Window", "those of the steps from first to last, counted from 1", "Window(first: 1000, last: 2000)"),
    ];

    /// The first step after the `updates`-th whose gradient gets a row.
    fn next(self, updates: u64) -> u64 {
        match self {
            Gradients::Off => u64::MAX,
            Gradients::All => updates + 1,
            Gradients::Every(stride) => (updates / stride.get() + 1).saturating_mul(stride.get()),
            Gradients::Window { first, last } => {
                let next = first.get().max(updates + 1);
                if next <= last.get() { next } else { u64::MAX }
            }
        }
    }

    /// How many rows a run of so many steps will have.
    pub fn rows(self, updates: u64) -> u64 {
        match self {
            Gradients::Off => 0,
            Gradients::All => updates,
            Gradients::Every(stride) => updates / stride.get(),
            Gradients::Window { first, last } => (last.get().min(updates) + 1).saturating_sub(first.get()),
        }
    }
}

/// A row of `gradients.parquet`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientRow {
    /// The gradient.
    pub gradient: Gradient,
    /// ‖w_apply − w_read‖: how far the server had moved. `None` for a gradient that was not applied.
    pub drift: Option<f64>,
    /// ‖∇f(w_apply) − ∇f(w_read)‖: how wrong the gradient had become. `None` as for `drift`.
    pub gradient_error: Option<f64>,
}

/// Where rows of single gradients go, one by one.
pub trait RowSink {
    /// Takes one row.
    ///
    /// # Errors
    /// If it cannot be written.
    fn row(&mut self, row: &GradientRow) -> Result<()>;
}

impl RowSink for Vec<GradientRow> {
    fn row(&mut self, row: &GradientRow) -> Result<()> {
        self.push(*row);
        Ok(())
    }
}

/// A gradient that was rejected as too stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// When.
    pub at: Time,
    /// Whose it was.
    pub worker: u32,
    /// Which shard of the server it was for; 0 of a whole one.
    pub shard: u16,
    /// The server's version.
    pub expected: u64,
    /// The version that it was of.
    pub got: u64,
    /// How long ago it had read that.
    pub lag: Span,
}

/// So many rejections are remembered one by one: the first ones tell what is wrong. `gradients: All` has all of them.
const MOST_REJECTIONS: usize = 10;
/// So many incidents are remembered: the first ones.
const MOST_INCIDENTS: usize = 10_000;

/// Sees a run, and remembers what a person will ask about it. Its memory does not depend on the length of the run.
#[derive(Debug)]
pub struct Recorder<S> {
    spec: Record,
    lags: Lags,
    trajectory: Trajectory,
    timeline: Vec<Row>,
    answers: Vec<Answer>,
    rejections: Vec<Rejection>,
    incidents: Vec<Incident>,
    vain: Vain,
    cut: Option<Cut>,
    marks: Vec<Mark>,
    sink: S,
    start_version: u64,
    /// Room for two gradients.
    scratch: [Vec<f64>; 2],
    /// The number of the next step to inspect.
    next: u64,
}

/// All that was recorded of a run.
#[derive(Debug)]
pub struct Recording<S> {
    /// Lags and causes.
    pub lags: Lags,
    /// The loss over time.
    pub trajectory: Trajectory,
    /// The first steps.
    pub timeline: Vec<Row>,
    /// Steps that might have been.
    pub answers: Vec<Answer>,
    /// The first rejections.
    pub rejections: Vec<Rejection>,
    /// The first failures and returns.
    pub incidents: Vec<Incident>,
    /// Workers' time that came to nothing.
    pub vain: Vain,
    /// Where the warm-up ended, if it did.
    pub cut: Option<Cut>,
    /// The ends of the batches, and before them that of the warm-up, or the beginning.
    pub marks: Vec<Mark>,
    /// What took the rows of single gradients.
    pub sink: S,
}

impl<S: RowSink> Recorder<S> {
    /// A recorder for `simulation`, which has not yet begun. Rows of single gradients go to `sink`.
    pub fn new(spec: &Record, simulation: &Simulation, sink: S) -> Recorder<S> {
        let classes =
            simulation.model().workers.kinds().iter().map(|worker| worker.class as usize + 1).max().unwrap_or(0);
        let mut recorder = Recorder {
            spec: spec.clone(),
            lags: Lags::new(classes),
            trajectory: Trajectory::new(spec.trajectory, point(simulation)),
            timeline: Vec::new(),
            answers: Vec::new(),
            rejections: Vec::with_capacity(MOST_REJECTIONS),
            incidents: Vec::new(),
            vain: Vain::new(simulation.model().shards.len().max(1) as u64),
            cut: None,
            marks: Vec::new(),
            sink,
            start_version: simulation.version(),
            scratch: std::array::from_fn(|_| vec![0.0; simulation.parameters().len()]),
            next: 0,
        };
        if spec.batch.is_some() && spec.warm_up.last().is_none() {
            recorder.marks.push(Mark::new(0, simulation.now(), &recorder.lags));
        }
        recorder.plan(0);
        recorder
    }

    /// Ends with the state of `simulation`, which has been closed.
    ///
    /// # Errors
    /// If the causes of lag do not add up to the lags.
    pub fn finish(mut self, simulation: &Simulation) -> Result<Recording<S>> {
        self.lags.check()?;
        self.trajectory.finish(point(simulation));
        let unanswered = self.spec.what_if.iter().filter(|question| question.version >= simulation.version());
        self.answers.extend(unanswered.map(|question| Answer { question: question.clone(), outcome: None }));
        let Recorder { lags, trajectory, timeline, answers, rejections, incidents, vain, cut, marks, sink, .. } = self;
        Ok(Recording { lags, trajectory, timeline, answers, rejections, incidents, vain, cut, marks, sink })
    }

    /// Finds the next step to inspect after the `updates`-th.
    fn plan(&mut self, updates: u64) {
        let timeline = if updates < u64::from(self.spec.timeline) { updates + 1 } else { u64::MAX };
        let asked = self.spec.what_if.iter().filter_map(|question| {
            let step = question.version.checked_sub(self.start_version)? + 1;
            (step > updates).then_some(step)
        });
        let asked = asked.min().unwrap_or(u64::MAX).min(self.next_mark(updates));
        self.next = self.trajectory.next().min(self.spec.gradients.next(updates)).min(timeline).min(asked);
    }

    /// The next step at which the warm-up or a batch ends, after the `updates`-th.
    fn next_mark(&self, updates: u64) -> u64 {
        let warm = self.spec.warm_up.last().unwrap_or(0);
        if updates < warm {
            return warm;
        }
        let batch = |batch: Count| (updates - warm) / batch.get() * batch.get() + batch.get() + warm;
        self.spec.batch.map_or(u64::MAX, batch)
    }

    /// Ends the warm-up, or a batch, if this step is its last. Called for each gradient of the step, after all were recorded.
    fn mark(&mut self, gradient: &Gradient, step: &Step) {
        let updates = step.updates;
        if self.cut.is_none() && self.spec.warm_up.last() == Some(updates) {
            self.lags = Lags::new(self.lags.classes().len());
            self.cut = Some(Cut { updates, at: gradient.ended, totals: step.totals });
        }
        let ends = self.spec.batch.is_some() && self.next_mark(updates - 1) == updates;
        if ends && self.marks.last().is_none_or(|mark| mark.updates < updates) {
            self.marks.push(Mark::new(updates, gradient.ended, &self.lags));
        }
    }

    fn write(&mut self, gradient: &Gradient, step: &Step) -> Result<()> {
        let class = gradient.class as usize;
        let [then, now] = &mut self.scratch;
        step.objective.local_gradient(class, step.read, then);
        step.objective.local_gradient(class, step.before, now);
        self.sink.row(&GradientRow {
            gradient: *gradient,
            drift: Some(distance(step.before, step.read)),
            gradient_error: Some(distance(now, then)),
        })
    }
}

impl<S: RowSink> Observer for Recorder<S> {
    #[inline(always)]
    fn applied(&mut self, gradient: &Gradient) {
        self.lags.record(gradient);
    }

    #[inline(always)]
    fn expects(&self, lag_versions: u64) -> u64 {
        self.lags.count_about(lag_versions)
    }

    #[inline(always)]
    fn wants_inspection(&self, updates: u64) -> bool {
        updates >= self.next
    }

    fn wants_optimiser(&self, updates: u64) -> bool {
        let version = self.start_version + updates - 1;
        self.spec.what_if.iter().any(|question| question.version == version)
    }

    fn inspect(&mut self, gradient: &Gradient, step: &Step) -> Result<()> {
        let updates = step.updates;
        self.mark(gradient, step);
        if self.spec.gradients.next(updates - 1) == updates {
            self.write(gradient, step)?;
        }
        if updates <= u64::from(self.spec.timeline) {
            self.timeline.push(timeline::row(gradient, step));
        }
        for question in self.spec.what_if.iter().filter(|question| question.version == gradient.version_applied) {
            self.answers.push(timeline::answer(question, gradient, step)?);
        }
        if self.trajectory.next() == updates {
            let minimiser = step.objective.minimiser();
            self.trajectory.push(Point {
                time_s: gradient.ended.seconds(),
                version: gradient.version_applied + 1,
                updates,
                loss: step.objective.loss(step.after),
                distance: minimiser.map(|best| distance(step.after, best)),
                cost: step.cost,
            });
        }
        self.plan(updates);
        Ok(())
    }

    fn incident(&mut self, incident: &Incident) -> Result<()> {
        if self.incidents.len() < MOST_INCIDENTS {
            self.incidents.push(*incident);
        }
        Ok(())
    }

    fn not_applied(&mut self, gradient: &Gradient) -> Result<()> {
        self.vain.add(gradient);
        if gradient.fate == Fate::Rejected && self.rejections.len() < MOST_REJECTIONS {
            self.rejections.push(Rejection {
                at: gradient.ended,
                worker: gradient.worker,
                shard: gradient.shard,
                expected: gradient.version_applied,
                got: gradient.version_read,
                lag: gradient.lag(),
            });
        }
        if self.spec.gradients == Gradients::All {
            self.sink.row(&GradientRow { gradient: *gradient, drift: None, gradient_error: None })?;
        }
        Ok(())
    }
}

/// Where the run is now.
fn point(simulation: &Simulation) -> Point {
    let objective = &simulation.model().objective;
    Point {
        time_s: simulation.now().seconds(),
        version: simulation.version(),
        updates: simulation.updates(),
        loss: objective.loss(simulation.parameters()),
        distance: objective.minimiser().map(|best| distance(simulation.parameters(), best)),
        cost: simulation.cost(),
    }
}
