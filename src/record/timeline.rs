//! The first steps of a run, one by one, and what other choices would have made of single steps.

use crate::catalogue::entry;
use crate::cluster::{Gradient, Step};
use crate::error::Result;
use crate::kernel::Span;
use crate::optimiser::{Context, Optimiser, Spec};
use serde::{Deserialize, Serialize};

/// One optimiser step, with the parameters before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The gradient that was applied.
    pub gradient: Gradient,
    /// The parameters that it was computed at.
    pub w_read: Vec<f64>,
    /// The server's parameters just before.
    pub w_before: Vec<f64>,
    /// And just after.
    pub w_after: Vec<f64>,
    /// f(`w_after`).
    pub loss: f64,
}

/// A question about a single step: what would have come of it?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// The server's version just before the step.
    pub version: u64,
    /// With which gradient.
    #[serde(default)]
    pub gradient: Which,
    /// With which optimiser, in its initial state; if left out, that of the run, in the state that it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimiser: Option<Vec<Spec>>,
}

/// The gradient of a [`WhatIf`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// The one that was pushed, at the parameters that its worker had read.
    #[default]
    Stale,
    /// The same worker's gradient at the server's current parameters, without noise.
    Fresh,
}

/// The answer to a [`WhatIf`].
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: WhatIf,
    /// The parameters that it would have given, and f there; `None` if the run ended before that step.
    pub outcome: Option<(Vec<f64>, f64)>,
}

/// How the fields of a [`WhatIf`] are written, for `laggard list`.
pub const WHAT_IF: crate::catalogue::Entry = entry(
    "what_if",
    "one step again from the same state: with a Fresh gradient, or another optimiser",
    "(version: 10, gradient: Fresh)",
);

/// The step that was taken.
pub fn row(gradient: &Gradient, step: &Step) -> Row {
    Row {
        gradient: *gradient,
        w_read: step.read.to_vec(),
        w_before: step.before.to_vec(),
        w_after: step.after.to_vec(),
        loss: step.objective.loss(step.after),
    }
}

/// The step that would have been taken.
///
/// # Errors
/// If the chain asked for has no learning rate, or several.
pub fn answer(question: &WhatIf, gradient: &Gradient, step: &Step) -> Result<Answer> {
    let mut update = step.pushed.to_vec();
    let fresh = question.gradient == Which::Fresh;
    if fresh {
        step.objective.local_gradient(gradient.class as usize, step.before, &mut update);
        update.iter_mut().for_each(|g| *g *= gradient.weight);
    }
    let context = Context {
        updates: step.updates - 1,
        lag_versions: if fresh { 0 } else { gradient.lag_versions() },
        lag: if fresh { Span::ZERO } else { gradient.lag() },
        worker: gradient.worker,
        parameters: step.before,
        read: if fresh { step.before } else { step.read },
    };
    let mut optimiser = match (&question.optimiser, step.optimiser) {
        (None, Some(own)) => own.clone(),
        (chain, _) => Optimiser::new(chain.as_deref().unwrap_or_default(), update.len())?,
    };
    optimiser.transform(&mut update, &context);
    let w_after: Vec<f64> = step.before.iter().zip(&update).map(|(w, u)| w - u).collect();
    let loss = step.objective.loss(&w_after);
    Ok(Answer { question: question.clone(), outcome: Some((w_after, loss)) })
}
