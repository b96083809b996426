//! A page with all figures of a folder of results: one file that needs no network. Charts are drawn by uPlot, which stands in `page/uplot` with
//! its licence; what is ours of the page is in `page/`.

use super::figures::{Cells, Figure};
use crate::error::{Error, Result};
use serde::Serialize;
use serde_json::{Number, Value};

/// What stands on a page.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// What it is, in a sentence.
    pub lead: String,
    /// Key figures: what, and how much.
    pub facts: Vec<(String, String)>,
    /// The combinations of a sweep.
    pub cells: Option<Cells>,
    /// Which figure of them is shown first.
    pub shown: String,
    /// The level of intervals.
    pub level: f64,
    /// The figures of each combination, or of the run.
    pub parts: Vec<Part>,
    /// The command that makes the same results.
    pub command: String,
    /// The scenario, or the sweep.
    pub scenario: String,
    /// What stands below: which program, which run.
    pub foot: String,
}

/// The figures of a run, or of the repeats of one combination.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// The whole page.
///
/// # Errors
/// If a figure cannot be written as JSON.
pub fn page(page: &Page) -> Result<String> {
    let data = serde_json::to_value(page).map_err(|error| Error::Broken(error.to_string()))?;
    // Within a script element only its end would be taken for markup.
    let data = rounded(data).to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let title = page.title.replace('&', "&amp;").replace('<', "&lt;");
    let parts = [
        ("{{version}}", env!("CARGO_PKG_VERSION")),
        ("{{title}}", &title),
        ("{{uplot_css}}", include_str!("page/uplot/uPlot.min.css")),
        ("{{css}}", include_str!("page/page.css")),
        ("{{licence}}", include_str!("page/uplot/LICENSE")),
        ("{{uplot}}", include_str!("page/uplot/uPlot.iife.min.js")),
        ("{{js}}", include_str!("page/page.js")),
        // Last, so that nothing in it is taken for a place to fill.
        ("{{data}}", &data),
    ];
    let template = include_str!("page/page.html").to_owned();
    Ok(parts.iter().fold(template, |text, (place, part)| text.replacen(place, part, 1)))
}

/// Numbers to seven digits, which is more than can be seen, in half the bytes.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let Some(value) = number.as_f64() else { return Value::Number(number) };
            if value.fract() == 0.0 && value.abs() < 1e15 {
                return Value::from(value as i64);
            }
            let short = format!("{value:.6e}").parse().ok().and_then(Number::from_f64);
            Value::Number(short.unwrap_or(number))
        }
        Value::Array(values) => Value::Array(values.into_iter().map(rounded).collect()),
        Value::Object(parts) => Value::Object(parts.into_iter().map(|(name, part)| (name, rounded(part))).collect()),
        other => other,
    }
}
