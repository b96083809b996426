//! What theory says of a scenario, for a person.

use super::{number, plain_table};
use crate::study::{Forecast, Prediction};

/// A line for each prediction, with the figure of a run beside where there is one, and for what theory is silent about.
pub fn forecast(said: &Forecast, simulated: impl Fn(&str) -> Option<f64>) -> String {
    let longest = said.predictions.iter().map(|known| known.because.chars().count()).max().unwrap_or(0);
    let line = |known: &Prediction| {
        // Columns are aligned right, but reasons are read from their beginning.
        let padding = " ".repeat(longest - known.because.chars().count());
        let seen = simulated(known.quantity).map_or(String::new(), number);
        vec![known.quantity.to_owned(), number(known.value), seen, known.because.clone() + &padding]
    };
    let mut text = String::new();
    if !said.predictions.is_empty() {
        let lines = said.predictions.iter().map(line);
        text += &plain_table(&["in the long run", "theory", "this run", "because"], lines);
    }
    for (about, why) in &said.silent {
        text += &format!(" no prediction of {about}: {why}\n");
    }
    text
}
