//! A table: named columns of equal length, in plain vectors. What writes it need not know what it is about.

use serde_json::{Map, Value};

/// The values of one column. A missing value is `None`.
#[derive(Clone, Debug, PartialEq)]
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
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, the unit last.
    pub name: String,
    /// Its unit, or what it counts; empty for text.
    pub unit: &'static str,
    /// Its values.
    pub values: Values,
}

/// A table, to be written as one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file's name.
    pub file: &'static str,
    /// The columns, all of one length.
    pub columns: Vec<Column>,
}

impl Column {
    /// A column of whole numbers.
    pub fn whole(name: impl Into<String>, unit: &'static str, values: Vec<u64>) -> Column {
        Column { name: name.into(), unit, values: Values::Whole(values) }
    }

    /// A column of numbers, none missing.
    pub fn number(name: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Column {
        Column { name: name.into(), unit, values: Values::Number(values.into_iter().map(Some).collect()) }
    }

    /// A column of numbers that may be missing.
    pub fn maybe(name: impl Into<String>, unit: &'static str, values: Vec<Option<f64>>) -> Column {
        Column { name: name.into(), unit, values: Values::Number(values) }
    }

    /// A column of text.
    pub fn text(name: impl Into<String>, values: Vec<String>) -> Column {
        Column { name: name.into(), unit: "", values: Values::Text(values) }
    }
}

impl Table {
    /// A JSON object of the units of all columns that have one, for the file's footer.
    pub fn units(&self) -> String {
        let with_unit = self.columns.iter().filter(|column| !column.unit.is_empty());
        let units: Map<String, Value> = with_unit.map(|column| (column.name.clone(), column.unit.into())).collect();
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
        };
        Value::Object(self.columns.iter().map(|column| (column.name.clone(), cell(&column.values))).collect())
    }
}
