//! What `laggard list` prints: every part that a scenario can name, with one line and a RON example each.

/// One variant of one of the scenario's enums.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in RON.
    pub name: &'static str,
    /// What it is, in one line, with the units of its parameters.
    pub summary: &'static str,
    /// How to write it; a test reads every one.
    pub example: &'static str,
}

/// Shorthand for a table of entries.
pub const fn entry(name: &'static str, summary: &'static str, example: &'static str) -> Entry {
    Entry { name, summary, example }
}
