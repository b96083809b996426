//! Workers that never wait for others: how stale their gradients are, and how many there are.

use super::Forecast;
use super::view::View;
use crate::delay::Law;
use crate::theory::renewal::{self, Renewal};
use crate::theory::{lag, queue};

/// So many workers of different speed at one server are dealt with: the forms go over all sets of them.
const UNEQUAL: u64 = 12;

/// Workers that always have a gradient under way.
pub fn busy(view: &View, each: u64, forecast: &mut Forecast) {
    let n = view.workers;
    let any = if each == 1 { "n − 1 for any laws" } else { "(n − 1)/K for any laws" };
    forecast.say("lag_versions_mean", lag::mean_of_busy(n, each), format!("{any}: every worker is always busy"));
    if view.step_s > 0.0 {
        return forecast.pass("rate and age", "steps take time");
    }
    let rate = match view.service_s > 0.0 {
        false => Some((view.rate(), "Σ 1/mean time of each worker: nobody waits".to_owned())),
        true => served(view, forecast),
    };
    let Some((rate, because)) = rate else { return };
    forecast.say("throughput_per_s", rate / each as f64, because);
    if each == 1 {
        forecast.say("lag_s_mean", lag::mean_age_s(n, rate), "n / throughput: Little's law");
        if view.service_s == 0.0 {
            spread(view, forecast);
        }
    }
}

/// How lags vary, and how those in versions go with those in seconds.
fn spread(view: &View, forecast: &mut Forecast) {
    let n = view.workers;
    if matches!(view.only_law(), Some(Law::Exponential { .. })) {
        forecast.say("lag_versions_sd", lag::memoryless_variance(n).sqrt(), "√(n (n − 1)): lag is geometric");
        forecast.say("lag_correlation", lag::memoryless_correlation(n), "√((n − 1)/n): lag is Poisson, given its age");
    } else if let Some(rates) = view.exponential_rates() {
        let variance = lag::memoryless_variance_of_all(&rates);
        forecast.say("lag_versions_sd", variance.sqrt(), "geometric lags of workers of different speed");
    } else if let Some(law) = view.only_law().and_then(renewals) {
        let because = "what pushes of n − 1 renewal processes fall into one compute time";
        forecast.say("lag_versions_sd", law.lag_variance(n).sqrt(), because);
        forecast.say("lag_correlation", law.lag_correlation(n), because);
    }
}

/// How many pushes of one worker fall into a compute time of another, for laws with a closed form whose lags have variances that settle.
fn renewals(law: &Law) -> Option<Renewal> {
    Some(match law {
        Law::Uniform { low, high } if low < high => renewal::uniform(low.get(), high.get()),
        Law::ShiftedExponential { shift, mean } if mean.get() > 0.0 => {
            renewal::shifted_exponential(shift.get(), mean.get())
        }
        Law::Erlang { shape, .. } if shape.get() <= 64 => renewal::erlang(shape.get()),
        Law::Hyperexponential { branches } => {
            let all: f64 = branches.iter().map(|branch| branch.weight.get()).sum();
            let probabilities: Vec<f64> = branches.iter().map(|branch| branch.weight.get() / all).collect();
            let means_s: Vec<f64> = branches.iter().map(|branch| branch.mean.get()).collect();
            renewal::hyperexponential(&probabilities, &means_s)
        }
        Law::Pareto { shape, .. } if shape.get() > 4.0 => renewal::pareto(shape.get()),
        Law::LogNormal { sigma: Some(sigma), .. } if sigma.get() < 1.5 => renewal::log_normal(sigma.get()),
        _ => return None,
    })
}

/// The rate of a server that takes in one gradient at a time, if it is known, and whether it is what limits the workers.
fn served(view: &View, forecast: &mut Forecast) -> Option<(f64, String)> {
    let away = view.away[0].1;
    let exponential = matches!(view.prepared.scenario.server.service, Law::Exponential { .. });
    if let (Some(rates), true, 2..=UNEQUAL) =
        (view.exponential_rates(), exponential && view.away.len() > 1, view.workers)
    {
        let away_s: Vec<f64> = rates.iter().map(|rate| 1.0 / rate).collect();
        let rate = queue::unequal_workers(&away_s, view.service_s).iter().map(|own| own.throughput_per_s).sum();
        return Some((rate, "exponential workers of different speed at one exponential server".to_owned()));
    }
    if view.away.iter().any(|(_, other)| (other - away).abs() > 1e-9 * away) {
        forecast.pass("rate and age", "workers of different speed share a server that takes time");
        return None;
    }
    let saturation = queue::saturation(away, view.service_s);
    forecast.say("saturation_workers", saturation, "(time away + service) / service: from there on the server limits");
    match (&view.prepared.scenario.server.service, view.only_law()) {
        (Law::Exponential { .. }, _) => {
            let system = queue::exponential_server(view.workers, away, view.service_s);
            forecast.say("server_utilisation", system.utilisation, "M/M/1//N");
            Some((system.throughput_per_s, "M/M/1//N: exponential service, any law of the time away".to_owned()))
        }
        (Law::Constant(_), Some(Law::Exponential { .. })) => {
            let (system, _) = queue::constant_server(view.workers, away, view.service_s);
            forecast.say("server_utilisation", system.utilisation, "M/D/1//N");
            Some((
                system.throughput_per_s,
                "M/D/1//N: constant service, exponential compute times (Takács, 1962)".to_owned(),
            ))
        }
        (Law::Constant(_), Some(Law::Constant(_))) => {
            let rate = queue::most_throughput_per_s(view.workers, away, view.service_s);
            Some((rate, "min(N/(time away + service), 1/service): constant times".to_owned()))
        }
        _ => {
            let most = queue::most_throughput_per_s(view.workers, away, view.service_s);
            forecast.say(
                "throughput_per_s_at_most",
                most,
                "min(N/(time away + service), 1/service): a bound for any laws",
            );
            forecast.pass("rate and age", "no closed form for these laws of service and compute times");
            None
        }
    }
}

/// Warns of a server that is what limits its workers.
pub fn saturated(view: &View) -> Option<String> {
    let slowest = view.away.iter().map(|(_, away)| *away).fold(0.0, f64::max);
    let saturation = queue::saturation(slowest, view.service_s);
    let (n, most) = (view.workers, 1.0 / view.service_s);
    (view.service_s > 0.0 && n as f64 > saturation).then(|| {
        format!("the server is saturated: {n} workers, where {saturation:.1} keep it busy at {most} gradients/s")
    })
}
