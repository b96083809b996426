//! What theory says of a scenario before it is run: which closed forms apply, what they give, and why others do not.

mod busy;
mod failing;
mod learning;
mod view;
mod waiting;

use super::run::Prepared;
use view::View;
/// A figure in the long run, by a closed form.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Its name: that of the summary, where the summary has it.
    pub quantity: &'static str,
    /// The figure.
    pub value: f64,
    /// Where it comes from, and when it holds.
    pub because: String,
}

/// What can be said of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// What closed forms give.
    pub predictions: Vec<Prediction>,
    /// Of what there is none, and why.
    pub silent: Vec<(&'static str, String)>,
    /// What is likely to go wrong.
    pub warnings: Vec<String>,
}

impl Forecast {
    fn say(&mut self, quantity: &'static str, value: f64, because: impl Into<String>) {
        self.predictions.push(Prediction { quantity, value, because: because.into() });
    }

    fn pass(&mut self, about: &'static str, why: impl Into<String>) {
        self.silent.push((about, why.into()));
    }

    /// The figure called so, if there is one.
    pub fn get(&self, quantity: &str) -> Option<f64> {
        self.predictions.iter().find(|known| known.quantity == quantity).map(|known| known.value)
    }
}

/// What closed forms say of a scenario.
pub fn predict(prepared: &Prepared) -> Forecast {
    let mut forecast = Forecast { warnings: warnings(prepared), ..Forecast::default() };
    let view = View::new(prepared);
    failing::interval(prepared, &mut forecast);
    failing::workers(&view, &mut forecast);
    if let Some(what) = view.beyond() {
        forecast.pass("lag, rate and stability", format!("{what}, of which the forms here know nothing"));
        return forecast;
    }
    match view.gradients_per_step() {
        Some(each) => busy::busy(&view, each, &mut forecast),
        None => waiting::waiting(&view, &mut forecast),
    }
    learning::learning(&view, &mut forecast);
    forecast
}

/// What is likely to go wrong in a run of a scenario. Quickly found, as every run begins with it.
pub fn warnings(prepared: &Prepared) -> Vec<String> {
    let mut all = Vec::new();
    if prepared.has_infinite_variance() {
        let what = "the variance of some delay is infinite: figures in seconds settle slowly, and have no intervals";
        all.push(what.to_owned());
    }
    let view = View::new(prepared);
    if view.beyond().is_none() {
        if view.gradients_per_step().is_some() {
            all.extend(busy::saturated(&view));
        }
        all.extend(learning::unstable(&view));
        all.extend(waiting::never_binds(&view));
    }
    all
}
