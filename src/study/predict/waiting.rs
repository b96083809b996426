//! Workers that wait for others, or whose gradients are refused.

use super::Forecast;
use super::view::View;
use crate::cluster::Member;
use crate::delay::Law;
use crate::protocol::{After, Composition, Late, Otherwise, Pace};
use crate::theory::{barrier, lag, network, participation, ssp};
use crate::units::Count;

/// The forms go over all states of so many at most.
const MOST_STATES: f64 = 1000.0;

/// What is known of the protocol that `view` has.
pub fn waiting(view: &View, forecast: &mut Forecast) {
    let composition = &view.composition;
    match (&composition.pace, composition.step.after, composition.late) {
        (Pace::Barrier, After::All, _) => fresh(view, view.workers, forecast),
        (Pace::Barrier, After::Workers(k), late) if k.get() >= view.workers || late == Late::Cancel => {
            fresh(view, k.get().min(view.workers), forecast);
        }
        (Pace::Barrier, After::Workers(k), Late::Keep) => k_async(view, k.get(), forecast),
        (Pace::AtOnce, After::Gradients(k), Late::Cancel) => batch(view, k.get(), forecast),
        (Pace::ClockGap { bound, sample: None }, _, _) => clocks(view, *bound, forecast),
        (Pace::Routed { tasks, shares, .. }, _, _) => {
            let shares: Vec<f64> = shares.iter().map(|share| share.get()).collect();
            routed(view, tasks.get(), &shares, forecast);
        }
        (Pace::AtOnce, _, _) if composition.admit.most_versions.is_some() => refusing(view, forecast),
        _ => forecast.pass("lag and rate", "no closed form for this protocol"),
    }
}

/// Steps of gradients of their own version, of the `k` fastest workers.
fn fresh(view: &View, k: u64, forecast: &mut Forecast) {
    forecast.say("lag_versions_mean", 0.0, "a step uses gradients of the current version only");
    if !view.is_instant() {
        return forecast.pass("rate", "the server takes time");
    }
    steps(view, k, forecast);
}

/// How many steps there are a second that wait for the `k` fastest of equal workers.
fn steps(view: &View, k: u64, forecast: &mut Forecast) {
    let Some(round_s) = round_s(view, k) else {
        return forecast.pass("rate", "no closed form for the fastest of these compute times");
    };
    if !round_s.is_finite() || round_s <= 0.0 {
        return forecast.pass("rate", "the mean of the slowest is infinite");
    }
    let because = format!("the {k} fastest of {} take {round_s:.6} s on average (order statistics)", view.workers);
    forecast.say("throughput_per_s", 1.0 / round_s, because);
}

fn round_s(view: &View, k: u64) -> Option<f64> {
    let n = view.workers;
    Some(match view.only_law()? {
        Law::Exponential { mean } => barrier::exponential(0.0, mean.get(), n, k),
        Law::ShiftedExponential { shift, mean } => barrier::exponential(shift.get(), mean.get(), n, k),
        Law::Pareto { minimum, shape } => barrier::pareto(minimum.get(), shape.get(), n, k),
        Law::Uniform { low, high } => barrier::uniform(low.get(), high.get(), n, k),
        Law::Constant(seconds) => seconds.get(),
        Law::Erlang { .. }
        | Law::Gamma { .. }
        | Law::TruncatedNormal { .. }
        | Law::HalfNormal { .. }
        | Law::LogNormal { .. }
        | Law::Weibull { .. }
        | Law::Hyperexponential { .. } => {
            let model = &view.prepared.model;
            let delay = model.delays[model.workers.first()?.legs.compute.place()?].delay();
            let done = |x: f64| delay.cdf(x).unwrap_or(f64::NAN);
            barrier::any_law(|x| 1.0 - done(x), delay.mean(), n, k)
        }
        _ => return None,
    })
}

/// Steps of the gradients of `k` workers, who wait for them, while the others go on.
fn k_async(view: &View, k: u64, forecast: &mut Forecast) {
    if !view.is_instant() {
        return forecast.pass("lag and rate", "the server takes time");
    }
    forecast.say("lag_versions_mean", lag::mean_of_k_async(view.workers, k), "(n − K)/K for any laws");
    match view.only_law() {
        // As soon as they begin again all are as if they had just begun.
        Some(Law::Exponential { .. }) => steps(view, k, forecast),
        _ => forecast.pass("rate", "known for equal workers with exponential compute times"),
    }
}

/// Steps of `k` gradients of their own version, whoever computes them.
fn batch(view: &View, k: u64, forecast: &mut Forecast) {
    forecast.say("lag_versions_mean", 0.0, "a step uses gradients of the current version only");
    let law = match view.only_law() {
        Some(Law::Exponential { mean }) => Some((0.0, mean.get())),
        Some(Law::ShiftedExponential { shift, mean }) => Some((shift.get(), mean.get())),
        _ => None,
    };
    match law {
        Some((shift_s, mean_s)) if view.is_instant() && k <= 200 => {
            let because = "K gradients of workers that begin anew at each step";
            forecast.say("throughput_per_s", 1.0 / barrier::batch_sync(shift_s, mean_s, view.workers, k), because);
        }
        _ => forecast.pass("rate", "known for (shifted) exponential compute times, and a server that takes no time"),
    }
}

/// Workers that wait for the slowest.
fn clocks(view: &View, bound: u64, forecast: &mut Forecast) {
    let Some(rates) = view.exponential_rates().filter(|_| view.is_instant() && !refuses(&view.composition)) else {
        return forecast.pass("lag and rate", "known for exponential compute times alone");
    };
    if ((bound + 2) as f64).powf(rates.len() as f64) > MOST_STATES {
        return forecast
            .pass("lag and rate", "too many workers, or too wide a bound, for the Markov chain of their clocks");
    }
    let paces = ssp::exponential(&rates, bound);
    let because = "the Markov chain of how far each worker is ahead of the slowest";
    forecast.say("throughput_per_s", paces.iter().map(|pace| pace.rate_per_s).sum(), because);
    let blocked = paces.iter().map(|pace| pace.blocked).sum::<f64>() / paces.len() as f64;
    forecast.say("worker_utilisation", 1.0 - blocked, because);
    let most = ssp::greatest_lag(view.workers, bound);
    forecast.say("lag_versions_at_most", most as f64, "(n − 1)(2 bound + 1), reached or not");
}

/// Tasks that go round.
fn routed(view: &View, tasks: u64, shares: &[f64], forecast: &mut Forecast) {
    let Some(rates) = view.exponential_rates().filter(|_| view.is_instant() && !refuses(&view.composition)) else {
        return forecast.pass("lag and rate", "known for exponential compute times alone");
    };
    // A class shares what it is given among its workers.
    let own = |class: usize| {
        shares.get(class).copied().unwrap_or(1.0) / if shares.is_empty() { 1.0 } else { view.away[class].0 as f64 }
    };
    let weights: Vec<f64> = view.prepared.model.workers.iter().map(|member| own(member.class as usize)).collect();
    let all: f64 = weights.iter().sum();
    let probabilities: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
    if probabilities.contains(&0.0) {
        return forecast.pass("lag and rate", "known where every worker is chosen");
    }
    let (throughput, _) = network::clients(&rates, &probabilities, tasks);
    forecast.say("throughput_per_s", throughput, "closed Jackson network: G(m − 1)/G(m) (Buzen, 1973)");
    forecast.say("lag_versions_mean", tasks as f64 - 1.0, "m − 1 tasks are always under way besides");
    forecast.say("lag_s_mean", tasks as f64 / throughput, "m / throughput: Little's law");
}

/// Gradients that are refused if they are too many versions old.
fn refusing(view: &View, forecast: &mut Forecast) {
    let (composition, Some(rates)) = (&view.composition, view.exponential_rates().filter(|_| view.is_instant())) else {
        return forecast.pass("lag and rate", "known for exponential compute times alone");
    };
    let admit = composition.admit;
    let rest = Composition { admit: Default::default(), ..composition.clone() };
    let most = admit.most_versions.unwrap_or(u64::MAX);
    let goes_on = admit.otherwise != Otherwise::Fail && admit.most_s.is_none() && rest.is_plain();
    if !goes_on || ((most.min(1000) + 2) as f64).powf(rates.len() as f64) > MOST_STATES {
        return forecast
            .pass("lag and rate", "known for few workers, a small bound, and gradients that are dropped alone");
    }
    let part = participation::dropping(&rates, most);
    let because = "the Markov chain of the lags that workers would have";
    forecast.say("throughput_per_s", rates.iter().sum::<f64>() * part.accepted_of_all, because);
    let least = part.accepted.iter().copied().fold(1.0, f64::min);
    forecast.say("accepted_share", part.accepted_of_all, because);
    forecast.say("accepted_share_of_slowest", least, because);
}

/// Warns of a bound on the lag that no gradient can exceed.
pub fn never_binds(view: &View) -> Option<String> {
    let (most, model) = (view.composition.admit.most_versions?, &view.prepared.model);
    if view.composition.step.after != After::Gradients(Count::ONE)
        || !view.is_instant()
        || view.workers > u32::MAX.into()
    {
        return None;
    }
    // Another worker makes at most so many steps while one computes.
    let support = |member: &Member| {
        let legs = [member.legs.download, member.legs.compute, member.legs.upload];
        let ends = legs.map(|id| id.place().map_or((0.0, 0.0), |place| model.delays[place].delay().support()));
        ends.iter().fold((0.0, 0.0), |(least, most), (low, high)| (least + low, most + high))
    };
    let spans: Vec<(f64, f64)> = model.workers.iter().map(support).collect();
    let least_s = spans.iter().map(|(least, _)| *least).fold(f64::INFINITY, f64::min);
    let most_s = spans.iter().map(|(_, most)| *most).fold(0.0, f64::max);
    let each = if least_s == most_s { 1.0 } else { (most_s / least_s).floor() + 1.0 };
    let reached = (view.workers - 1) as f64 * each;
    (most as f64 >= reached).then(|| {
        format!("the bound of {most} versions never binds: no gradient can be more than {reached} versions old")
    })
}

fn refuses(composition: &Composition) -> bool {
    composition.admit.most_versions.is_some() || composition.admit.most_s.is_some()
}
