//! How large a learning rate is stable, how fast it learns, and where noise leaves the loss: of quadratics.

use super::Forecast;
use super::view::View;
use crate::delay::Law;
use crate::objective::{self, Noise};
use crate::optimiser::Spec;
use crate::protocol::{After, Late, Mean, Pace};
use crate::theory::{momentum, stability};

/// How stale gradients are.
#[derive(Clone, Copy)]
enum Lags {
    /// All by as much.
    Constant(u64),
    /// As those of equal workers with exponential compute times, of which a step waits for `k`.
    Memoryless { k: u64 },
}

/// What is learnt how, as far as it is known here.
struct Learning {
    lags: Lags,
    learning_rate: f64,
    momentum: f64,
    /// Over how many gradients a step takes the mean.
    mean_of: u64,
    /// The greatest curvature.
    steepest: f64,
}

impl Learning {
    /// Or what it would have to be like.
    fn new(view: &View) -> Result<Learning, &'static str> {
        let scenario = &view.prepared.scenario;
        let quadratic =
            matches!(scenario.objective, objective::Spec::Quadratic { .. } | objective::Spec::Diagonal { .. });
        let (learning_rate, momentum) = match scenario.optimiser.as_slice() {
            [Spec::Sgd { learning_rate }] if quadratic => (learning_rate.get(), 0.0),
            [Spec::HeavyBall { learning_rate, momentum, .. }] if quadratic => (learning_rate.get(), momentum.get()),
            _ => return Err("known for SGD and momentum on quadratics"),
        };
        let composition = &view.composition;
        let weighted = scenario.workers.iter().any(|class| class.weight.get() != 1.0);
        if weighted || composition.admit.discount.is_some() || composition.step.mean != Mean::default() {
            return Err("known for unweighted gradients");
        }
        let steepest = view.prepared.model.objective.curvature().map_or(f64::NAN, |(_, steepest)| steepest);
        let n = view.workers;
        let (lags, mean_of) = match (&composition.pace, composition.step.after, view.only_law()) {
            (Pace::Barrier, After::All, _) => (Lags::Constant(0), n),
            (Pace::Barrier, After::Workers(k), _) if composition.late == Late::Cancel => {
                (Lags::Constant(0), k.get().min(n))
            }
            (Pace::Barrier, After::Workers(k), Some(Law::Exponential { .. }))
                if composition.late == Late::Keep && k.get() <= n && view.is_instant() =>
            {
                (Lags::Memoryless { k: k.get() }, k.get())
            }
            (_, _, Some(Law::Exponential { .. })) if view.gradients_per_step() == Some(1) && view.is_instant() => {
                (Lags::Memoryless { k: 1 }, 1)
            }
            (_, _, Some(Law::Constant(_)))
                if view.gradients_per_step() == Some(1) && view.step_s == 0.0 && view.has_constant_service() =>
            {
                (Lags::Constant(n - 1), 1)
            }
            _ => {
                return Err(
                    "known for one gradient a step of equal workers with constant or exponential compute times",
                );
            }
        };
        Ok(Learning { lags, learning_rate, momentum, mean_of, steepest })
    }

    /// The learning rate beyond which it grows without bound, and in what sense; `None` where that is not known.
    fn edge(&self, workers: u64) -> Option<(f64, &'static str)> {
        match self.lags {
            Lags::Constant(lag) if self.momentum == 0.0 => {
                Some((stability::constant_lag_edge(lag), "2 sin(π/(4 lag + 2)) over the greatest curvature"))
            }
            Lags::Constant(lag) => Some((
                momentum::heavy_ball_edge(self.momentum, lag),
                "where a root of the recursion reaches 1, over the greatest curvature",
            )),
            Lags::Memoryless { k: 1 } if self.momentum == 0.0 => {
                Some((stability::memoryless_edge(workers), "(1 + √(1 + 8n))/(2n): beyond it E w² grows"))
            }
            Lags::Memoryless { .. } => None,
        }
    }
}

/// What is known of learning in the long run.
pub fn learning(view: &View, forecast: &mut Forecast) {
    let known = match Learning::new(view) {
        Ok(known) => known,
        Err(why) => return forecast.pass("stability", why),
    };
    let n = view.workers;
    if let Lags::Memoryless { k } = known.lags {
        let because = "1 − K/n, with K gradients a step (Mitliagkas et al., 2016)";
        forecast.say("implicit_momentum", stability::implicit_momentum(n, k), because);
    }
    match known.edge(n) {
        Some((edge, because)) => forecast.say("learning_rate_edge", edge / known.steepest, because),
        None => forecast.pass("the edge of stability", "known for plain SGD with one gradient a step"),
    }
    let scenario = &view.prepared.scenario;
    let objective::Spec::Quadratic { curvature, .. } = scenario.objective else { return };
    let alpha = known.learning_rate * curvature.get();
    let factor = match known.lags {
        Lags::Constant(lag) if known.momentum == 0.0 => Some(stability::constant_lag_rate(alpha, lag).powi(2)),
        Lags::Constant(lag) if lag <= 100 => Some(momentum::heavy_ball_rate(alpha, known.momentum, lag).powi(2)),
        Lags::Memoryless { k: 1 } if known.momentum == 0.0 => Some(stability::memoryless_square_rate(alpha, n)),
        _ => None,
    };
    if let Some(factor) = factor {
        forecast.say("loss_factor_per_step", factor, "without noise, in the long run: the greatest root, squared");
    }
    let Some(Noise::Gaussian { sd, batch }) = scenario.noise else { return };
    let variance = match known.lags {
        _ if known.momentum != 0.0 => None,
        Lags::Constant(lag) => stability::constant_lag_variance(alpha, lag),
        Lags::Memoryless { k: 1 } => stability::memoryless_variance(alpha, n),
        Lags::Memoryless { k } => stability::k_async_variance(alpha, n, k),
    };
    if let Some(variance) = variance {
        let step = known.learning_rate * sd.get() / ((batch.get() * known.mean_of) as f64).sqrt();
        let because = "h/2 × the variance that noise keeps up";
        forecast.say("stationary_loss", curvature.get() / 2.0 * variance * step * step, because);
    }
}

/// Warns of a learning rate with which parameters grow without bound.
pub fn unstable(view: &View) -> Option<String> {
    let known = Learning::new(view).ok()?;
    let edge = known.edge(view.workers)?.0 / known.steepest;
    let rate = known.learning_rate;
    (rate >= edge).then(|| format!("a learning rate of {rate} is beyond the edge of stability, {edge:.6}"))
}
