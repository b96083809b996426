//! A table: named columns of equal length, in plain vectors. What writes it need not know what it is about.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The values of one column. A missing value is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// Whole numbers, never missing.
    Whole(Vec<u64>),
    /// Signed whole numbers, never missing.
    Signed(Vec<i64>),
    /// Whole numbers that may be missing.
    MaybeWhole(Vec<Option<u64>>),
    /// Numbers that may be missing.
    Number(Vec<Option<f64>>),
    /// Text, never missing.
    Text(Vec<String>),
    /// One of a few texts, never missing: the texts, and which.
    Choice(Vec<String>, Vec<u32>),
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, the unit last.
    pub name: String,
    /// Its unit, or what it counts; empty for text.
    pub unit: Cow<'static, str>,
    /// Its values.
    pub values: Values,
}

/// A table, to be written as one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The file's name.
    pub file: Cow<'static, str>,
    /// The columns, all of one length.
    pub columns: Vec<Column>,
}

impl Column {
    /// A column of whole numbers.
    pub fn whole(name: impl Into<String>, unit: &'static str, values: Vec<u64>) -> Column {
        Column { name: name.into(), unit: unit.into(), values: Values::Whole(values) }
    }

    /// A column of numbers, none missing.
    pub fn number(name: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Column {
        Column { name: name.into(), unit: unit.into(), values: Values::Number(values.into_iter().map(Some).collect()) }
    }

    /// A column of numbers that may be missing.
    pub fn maybe(name: impl Into<String>, unit: &'static str, values: Vec<Option<f64>>) -> Column {
        Column { name: name.into(), unit: unit.into(), values: Values::Number(values) }
    }

    /// A column of text out of a few.
    pub fn choice(name: impl Into<String>, texts: Vec<String>, values: Vec<u32>) -> Column {
        Column { name: name.into(), unit: "".into(), values: Values::Choice(texts, values) }
    }

    /// A column of text.
    pub fn text(name: impl Into<String>, values: Vec<String>) -> Column {
        Column { name: name.into(), unit: "".into(), values: Values::Text(values) }
    }
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values) => values.len(),
            Values::Signed(values) => values.len(),
            Values::MaybeWhole(values) => values.len(),
            Values::Number(values) => values.len(),
            Values::Text(values) => values.len(),
            Values::Choice(_, values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the values of a column of the same kind; false if it is of another.
    fn append(&mut self, more: &mut Values) -> bool {
        match (self, more) {
            (Values::Whole(mine), Values::Whole(more)) => mine.append(more),
            (Values::Signed(mine), Values::Signed(more)) => mine.append(more),
            (Values::MaybeWhole(mine), Values::MaybeWhole(more)) => mine.append(more),
            (Values::Number(mine), Values::Number(more)) => mine.append(more),
            (Values::Text(mine), Values::Text(more)) => mine.append(more),
            (Values::Choice(texts, mine), Values::Choice(same, more)) if texts == same => mine.append(more),
            _ => return false,
        }
        true
    }

    /// Removes them all.
    fn clear(&mut self) {
        match self {
            Values::Whole(values) => values.clear(),
            Values::Signed(values) => values.clear(),
            Values::MaybeWhole(values) => values.clear(),
            Values::Number(values) => values.clear(),
            Values::Text(values) => values.clear(),
            Values::Choice(_, values) => values.clear(),
        }
    }

    /// As many values of the same kind, none of them there yet.
    fn cleared(&self) -> Values {
        match self {
            Values::Whole(_) => Values::Whole(Vec::new()),
            Values::Signed(_) => Values::Signed(Vec::new()),
            Values::MaybeWhole(_) => Values::MaybeWhole(Vec::new()),
            Values::Number(_) => Values::Number(Vec::new()),
            Values::Text(_) => Values::Text(Vec::new()),
            Values::Choice(texts, _) => Values::Choice(texts.clone(), Vec::new()),
        }
    }
}

impl Table {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The values of a column of numbers; none of one that is not there, or of text.
    pub fn numbers(&self, name: &str) -> Cow<'_, [Option<f64>]> {
        match self.values(name) {
            Some(Values::Whole(values)) => values.iter().map(|&value| Some(value as f64)).collect(),
            Some(Values::Signed(values)) => values.iter().map(|&value| Some(value as f64)).collect(),
            Some(Values::MaybeWhole(values)) => values.iter().map(|value| value.map(|value| value as f64)).collect(),
            Some(Values::Number(values)) => values.into(),
            Some(Values::Text(_) | Values::Choice(..)) | None => Cow::default(),
        }
    }

    /// The values of a column of text; none of one that is not there, or of numbers.
    pub fn texts(&self, name: &str) -> &[String] {
        match self.values(name) {
            Some(Values::Text(values)) => values,
            _ => &[],
        }
    }

    fn values(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(|column| column.values.clear());
    }

    /// The same columns, without rows.
    pub fn cleared(&self) -> Table {
        let column = |column: &Column| Column { values: column.values.cleared(), ..column.clone() };
        Table { file: self.file.clone(), columns: self.columns.iter().map(column).collect() }
    }

    /// Adds the rows of a table with the same columns.
    ///
    /// # Errors
    /// If it has others; it is then no longer whole.
    pub fn append(&mut self, mut more: Table) -> Result<()> {
        let same = self.columns.len() == more.columns.len();
        let mut pairs = self.columns.iter_mut().zip(&mut more.columns);
        let all = same && pairs.all(|(mine, more)| mine.name == more.name && mine.values.append(&mut more.values));
        all.then_some(()).ok_or_else(|| Error::Broken(format!("tables of {} have different columns", self.file)))
    }

    /// A JSON object of the units of all columns that have one, for the file's footer.
    pub fn units(&self) -> String {
        let with_unit = self.columns.iter().filter(|column| !column.unit.is_empty());
        let units: Map<String, Value> =
            with_unit.map(|column| (column.name.clone(), Value::from(column.unit.as_ref()))).collect();
        Value::Object(units).to_string()
    }

    /// One row as a JSON object with the columns in their order; what is missing is null.
    pub fn json_row(&self, row: usize) -> Value {
        let cell = |values: &Values| match values {
            Values::Whole(values) => values[row].into(),
            Values::Signed(values) => values[row].into(),
            Values::MaybeWhole(values) => values[row].into(),
            Values::Number(values) => values[row].into(),
            Values::Text(values) => values[row].clone().into(),
            Values::Choice(texts, values) => texts[values[row] as usize].clone().into(),
        };
        Value::Object(self.columns.iter().map(|column| (column.name.clone(), cell(&column.values))).collect())
    }
}
