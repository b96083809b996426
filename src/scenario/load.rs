//! Reading a scenario: the text, the document, and all mistakes in it at once.

use super::Scenario;
use super::diagnose::{Located, Problem, render};
use super::outline::{Entry, outline};
use crate::error::{Error, Result};
use ron::error::{Position, SpannedError};
use ron::extensions::Extensions;
use std::path::{Path, PathBuf};

/// Larger files are no scenarios.
const MAX_BYTES: u64 = 1 << 20;
/// After so many problems the rest can wait.
const MAX_PROBLEMS: usize = 50;

/// The text of a scenario, with the name that its messages give it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it was read from.
    pub path: PathBuf,
    /// The text.
    pub text: String,
    /// Whether messages may have colours.
    pub colour: bool,
}

impl Source {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, is larger than 1 MiB, or is not UTF-8.
    pub fn read(path: &Path) -> Result<Source> {
        let bytes = std::fs::metadata(path).map_err(|source| Error::io(path, source))?.len();
        if bytes > MAX_BYTES {
            return Err(Error::Scenario(format!(
                "error: {}: {bytes} bytes are no scenario; the limit is 1 MiB (put measurements in a .csv or .parquet file)",
                path.display()
            )));
        }
        let text = match std::fs::read(path).map(String::from_utf8).map_err(|source| Error::io(path, source))? {
            Ok(text) => text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                return Err(Error::Scenario(format!(
                    "error: {}: byte {valid} is not UTF-8; save the file as UTF-8",
                    path.display()
                )));
            }
        };
        Ok(Source { path: path.to_owned(), text, colour: false })
    }

    /// The scenario that the text says.
    ///
    /// # Errors
    /// If it is none: every mistake, with its place and its remedy.
    pub fn parse(&self) -> Result<Scenario> {
        let mut text = self.text.clone();
        let mut problems: Vec<Located> = Vec::new();
        let mut blanked: Vec<String> = Vec::new();
        loop {
            let error = match options().from_str::<Scenario>(&text) {
                Ok(scenario) if problems.is_empty() => return Ok(scenario),
                Ok(_) => break,
                Err(error) => error,
            };
            let span = offset(&text, error.span.start)..offset(&text, error.span.end);
            let follows = matches!(&error.code, ron::Error::MissingStructField { field, .. } if blanked.iter().any(|name| name == field));
            if !follows {
                problems.push(describe(&self.text, &error, span.clone()));
            }
            // Look past the mistake: the smallest field or list element around it is taken out, and the rest read again.
            let root = outline(&text);
            let Some(entry) = culprit(&root, &error, &span) else { break };
            if is_syntax(&error.code) || problems.len() >= MAX_PROBLEMS {
                break;
            }
            blanked.extend(entry.name.clone());
            text = without(&text, entry);
        }
        Err(self.refuse(&problems))
    }

    /// The error that shows `problems` of this text.
    pub fn refuse(&self, problems: &[Located]) -> Error {
        Error::Scenario(render(&self.path.to_string_lossy(), &self.text, problems, self.colour))
    }

    /// As [`Source::refuse`], for problems known by their field.
    pub fn refuse_fields(&self, problems: &[Problem]) -> Error {
        let located: Vec<Located> = problems.iter().map(|problem| problem.locate(&self.text)).collect();
        self.refuse(&located)
    }
}

/// RON as scenarios use it: `Some(…)` need not be written.
fn options() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

/// The resolved scenario as RON, which reads back as the same scenario.
///
/// # Errors
/// If it cannot be written as RON, which would be a bug.
pub fn print(scenario: &Scenario) -> Result<String> {
    let pretty = ron::ser::PrettyConfig::default().struct_names(true).compact_arrays(false).depth_limit(4);
    let text = options().to_string_pretty(scenario, pretty);
    text.map_err(|error| Error::Broken(format!("the scenario cannot be printed: {error}")))
}

/// The smallest entry that an error is about. A missing field is reported at the closing bracket of the struct that
/// misses it, just after its last field.
fn culprit<'a>(root: &'a Entry, error: &SpannedError, span: &std::ops::Range<usize>) -> Option<&'a Entry> {
    match error.code {
        ron::Error::MissingStructField { .. } => enclosing(root, span.end),
        _ => root.innermost(span.start),
    }
}

/// The innermost entry with brackets that close at or after `offset`.
fn enclosing(entry: &Entry, offset: usize) -> Option<&Entry> {
    let child = entry.children.iter().find(|child| child.span.start < offset && offset <= child.span.end)?;
    if child.children.is_empty() && child.value.len() < 2 {
        return None;
    }
    match enclosing(child, offset) {
        Some(inner) if inner.span.end >= offset && !inner.children.is_empty() => Some(inner),
        _ => Some(child),
    }
}

/// `text` with the entry, and the comma after it, replaced by blanks.
fn without(text: &str, entry: &Entry) -> String {
    let rest = &text[entry.span.end..];
    let comma = rest.len() - rest.trim_start().len();
    let end = entry.span.end + if rest.trim_start().starts_with(',') { comma + 1 } else { 0 };
    let blank: String = text[entry.span.start..end]
        .chars()
        .flat_map(|c| if c == '\n' { vec!['\n'] } else { vec![' '; c.len_utf8()] })
        .collect();
    [&text[..entry.span.start], &blank, &text[end..]].concat()
}

/// Mistakes after which brackets and commas can no longer be trusted.
fn is_syntax(code: &ron::Error) -> bool {
    use ron::Error::*;
    matches!(
        code,
        Eof | ExpectedArrayEnd
            | ExpectedComma
            | ExpectedMapColon
            | ExpectedMapEnd
            | ExpectedStructLikeEnd
            | ExpectedStringEnd
            | UnclosedBlockComment
            | UnexpectedChar(_)
            | TrailingCharacters
            | ExceededRecursionLimit
    )
}

/// The byte at a line and column, both counted from 1.
fn offset(text: &str, position: Position) -> usize {
    let line: usize = text.split_inclusive('\n').take(position.line.saturating_sub(1)).map(str::len).sum();
    let column = text[line..].chars().take(position.col.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    (line + column).min(text.len())
}

/// What RON's error means, and what to do.
fn describe(text: &str, error: &SpannedError, span: std::ops::Range<usize>) -> Located {
    let list = |names: &[&str]| names.join(", ");
    let (message, help) = match &error.code {
        ron::Error::NoSuchStructField { expected, found, .. } => {
            (format!("unknown field `{found}`"), suggest(found, expected, "the fields here are"))
        }
        ron::Error::NoSuchEnumVariant { expected, found, .. } => {
            (format!("unknown name `{found}`"), suggest(found, expected, "expected one of"))
        }
        ron::Error::MissingStructField { field, .. } => {
            (format!("field `{field}` is missing"), Some(format!("add `{field}: …` before this bracket")))
        }
        ron::Error::DuplicateStructField { field, .. } => {
            (format!("field `{field}` is given twice"), Some("keep one of the two".to_owned()))
        }
        ron::Error::Message(message) => (message.clone(), None),
        ron::Error::InvalidValueForType { expected, found } => (format!("expected {expected}, found {found}"), None),
        ron::Error::IntegerOutOfBounds => {
            ("this whole number does not fit".to_owned(), Some("give one from 0 to 18446744073709551615".to_owned()))
        }
        ron::Error::ExceededRecursionLimit => {
            ("brackets are nested too deeply".to_owned(), Some("flatten this; scenarios need about ten levels".to_owned()))
        }
        ron::Error::ExpectedDifferentStructName { expected, found } => {
            (format!("expected `{expected}(…)`, found `{found}`"), Some(list(&["write the document as Scenario( … )"])))
        }
        ron::Error::TrailingCharacters => {
            ("there is something after the end of the scenario".to_owned(), Some("remove it, or the bracket before it".to_owned()))
        }
        ron::Error::Eof => ("the file ends too early".to_owned(), Some("a closing bracket is missing".to_owned())),
        ron::Error::ExpectedComma => {
            ("expected a comma".to_owned(), Some("separate fields and list elements by commas".to_owned()))
        }
        other => (other.to_string(), Some("`laggard list` shows how every part is written".to_owned())),
    };
    // Point at the thing itself, without the blanks before it.
    let shown = text.get(span.clone()).unwrap_or_default();
    let start = span.start + (shown.len() - shown.trim_start().len());
    let end = span.end.min(start + shown.trim().lines().next().map_or(1, |line| line.len().max(1)));
    Located { span: start.min(span.end)..end.max(start.min(span.end)), message, help }
}

/// The likeliest of the names meant, and all of them.
fn suggest(found: &str, names: &[&str], intro: &str) -> Option<String> {
    let closest = names.iter().map(|name| (strsim::damerau_levenshtein(found, name), name)).min();
    let all = format!("{intro}: {}", names.join(", "));
    match closest {
        Some((distance, name)) if distance <= name.len() / 3 => Some(format!("did you mean `{name}`? {all}")),
        _ => Some(all),
    }
}
