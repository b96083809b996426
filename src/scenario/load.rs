//! Reading a scenario: the text, the document, and all mistakes in it at once.

use super::Scenario;
use super::diagnose::{Located, closest, render, suggest};
use super::outline::{Entry, outline};
use crate::error::{Error, Result};
use ron::error::{Position, SpannedError};
use ron::extensions::Extensions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Larger files are no scenarios.
const MAX_BYTES: u64 = 1 << 20;
/// After so many problems the rest can wait.
const MAX_PROBLEMS: usize = 50;

/// A document as far as its text could be understood.
#[derive(Clone, Debug)]
pub struct Draft<T> {
    /// What is left when everything that cannot be read is taken out; `None` if that is no such document.
    pub document: Option<T>,
    /// What could not be read.
    pub problems: Vec<Located>,
    /// The top-level fields from which something was taken out.
    pub touched: Vec<String>,
}

impl Draft<Scenario> {
    /// Whether a problem found in what is left is there in the whole text, too: whether nothing was taken out of the field
    /// that it is about, or of one that this field must fit.
    pub fn is_sure_of(&self, problem: &super::Problem) -> bool {
        let field = problem.path.first().map_or("", String::as_str);
        let fits: &[&str] = match field {
            "start" => &["objective", "workers"],
            "noise" | "network" | "server" => &["objective", "workers"],
            "objective" => &["workers"],
            "workers" => &["network", "server", "objective", "record"],
            "record" => &["start_version", "stop", "objective", "workers"],
            "stop" => &["workers", "network", "server"],
            _ => &[],
        };
        !self.touched.iter().any(|touched| touched == field || fits.contains(&touched.as_str()))
    }
}

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
        let metadata = std::fs::metadata(path).map_err(|source| Error::io(path, source))?;
        if !metadata.is_file() {
            return Err(Error::Scenario(format!("error: {}: is no regular file", path.display())));
        }
        let bytes = metadata.len();
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

    /// The document (a scenario, or part of one) that the text says.
    ///
    /// # Errors
    /// If it is none: every mistake, with its place and its remedy.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let Draft { document, problems, .. } = self.draft();
        document.filter(|_| problems.is_empty()).ok_or_else(|| self.refuse(&problems))
    }

    /// What the text says, as far as it can be understood.
    pub fn draft<T: DeserializeOwned>(&self) -> Draft<T> {
        let mut text = self.text.clone();
        let mut problems: Vec<Located> = Vec::new();
        // Names of fields that were taken out, or misspelt, with their places: that they are missing then is no new mistake.
        let mut gone: Vec<(String, usize)> = Vec::new();
        // Places of all that was taken out, list elements too.
        let mut holes: Vec<usize> = Vec::new();
        loop {
            let error = match options().from_str::<T>(&text) {
                Ok(document) => {
                    let touched = holes.iter().filter_map(|place| top_field(&self.text, *place)).collect();
                    return Draft { document: Some(document), problems, touched };
                }
                Err(error) => error,
            };
            let span = offset(&text, error.span.start)..offset(&text, error.span.end);
            let root = outline(&text);
            let culprit = culprit(&root, &error, &span);
            let around = culprit.map_or(0..text.len(), |entry| entry.span.clone());
            let is_gone = |field: &str| gone.iter().any(|(name, place)| name == field && around.contains(place));
            if !matches!(&error.code, ron::Error::MissingStructField { field, .. } if is_gone(field)) {
                problems.push(describe(&self.text, &error, span));
            }
            // Look past the mistake: the smallest field or list element around it is taken out, and the rest read again.
            let Some(entry) = culprit else { break };
            if is_syntax(&error.code) || problems.len() >= MAX_PROBLEMS {
                break;
            }
            holes.push(entry.span.start);
            gone.extend(entry.name.clone().into_iter().chain(meant(&error.code)).map(|name| (name, entry.span.start)));
            text = without(&text, entry);
        }
        Draft { document: None, problems, touched: Vec::new() }
    }

    /// The error that shows `problems` of this text.
    pub fn refuse(&self, problems: &[Located]) -> Error {
        let problems = &problems[..problems.len().min(MAX_PROBLEMS)];
        Error::Scenario(render(&self.path.to_string_lossy(), &self.text, problems, self.colour))
    }
}

/// The field of the document that a byte of the text is in.
fn top_field(text: &str, at: usize) -> Option<String> {
    let root = outline(text);
    root.children.iter().find(|field| field.span.contains(&at)).and_then(|field| field.name.clone())
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
    print_document(scenario)
}

/// Any document as RON, which reads back as the same document.
///
/// # Errors
/// If it cannot be written as RON, which would be a bug.
pub fn print_document(document: &impl Serialize) -> Result<String> {
    let pretty = ron::ser::PrettyConfig::default().struct_names(true).compact_arrays(false).depth_limit(4);
    let text = options().to_string_pretty(document, pretty);
    text.map_err(|error| Error::Broken(format!("the scenario cannot be printed: {error}")))
}

/// The smallest entry that an error is about. A missing field is reported at the closing bracket of the struct that
/// misses it, just after its last field.
fn culprit<'a>(root: &'a Entry, error: &SpannedError, span: &std::ops::Range<usize>) -> Option<&'a Entry> {
    match error.code {
        ron::Error::MissingStructField { .. } => enclosing(root, span.start),
        _ => root.innermost(span.start),
    }
}

/// The innermost entry, field or list element, whose closing bracket, or something before it, is at `offset`.
fn enclosing(entry: &Entry, offset: usize) -> Option<&Entry> {
    let around = |child: &&Entry| child.bracketed() && child.span.start < offset && offset < child.span.end;
    let child = entry.children.iter().find(around)?;
    enclosing(child, offset).or_else(|| child.stands_alone(entry).then_some(child))
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

/// A mistake that RON found, at its place.
fn describe(text: &str, error: &SpannedError, span: std::ops::Range<usize>) -> Located {
    let span = text.floor_char_boundary(span.start)..text.floor_char_boundary(span.end);
    let stops_at_point = matches!(error.code, ron::Error::ExpectedComma | ron::Error::ExpectedStructLikeEnd);
    if let (true, Some(place)) = (stops_at_point, number_around(text, span.start)) {
        let message = format!("expected a whole number, got {}", &text[place.clone()]);
        return Located { span: place, message, help: Some("leave out the fraction".to_owned()) };
    }
    let (message, help) = meaning(&error.code);
    // Point at the thing itself: without the blanks before it, and with the sign of a number.
    let shown = text.get(span.clone()).unwrap_or_default();
    let sign = usize::from(text[..span.start].ends_with('-'));
    let start = span.start + (shown.len() - shown.trim_start().len()) - sign;
    let end = span.end.min(start + shown.trim().lines().next().map_or(1, |line| line.len().max(1)));
    Located { span: start.min(span.end)..end.max(start.min(span.end)), message, help }
}

/// What RON's error means, and what to do.
fn meaning(code: &ron::Error) -> (String, Option<String>) {
    let (message, help) = match code {
        ron::Error::NoSuchStructField { expected, found, .. } => {
            return (format!("unknown field `{found}`"), Some(suggest(found, expected, "the fields here are")));
        }
        ron::Error::NoSuchEnumVariant { expected, found, .. } => {
            return (format!("unknown name `{found}`"), Some(suggest(found, expected, "expected one of")));
        }
        ron::Error::MissingStructField { field, .. } => {
            return (format!("field `{field}` is missing"), Some(format!("add `{field}: …` before this bracket")));
        }
        ron::Error::DuplicateStructField { field, .. } => {
            return (format!("field `{field}` is given twice"), Some("keep one of the two".to_owned()));
        }
        ron::Error::ExpectedDifferentStructName { expected, found } => {
            return (format!("expected `{expected}(…)`, found `{found}`"), Some(other_document(expected, found)));
        }
        ron::Error::InvalidValueForType { expected, found } => {
            return (format!("expected {expected}, found {found}"), None);
        }
        ron::Error::Message(message) => {
            // The numbers of this program say `expected …, got …`.
            let wanted = message.strip_prefix("expected ").and_then(|rest| rest.rsplit_once(", got "));
            return (message.clone(), wanted.map(|(wanted, _)| format!("give {wanted}")));
        }
        ron::Error::IntegerOutOfBounds => ("this whole number does not fit", "give one from 0 to 18446744073709551615"),
        ron::Error::ExceededRecursionLimit => {
            ("brackets are nested too deeply", "flatten this; scenarios need about ten levels")
        }
        ron::Error::TrailingCharacters => {
            ("there is something after the end of the scenario", "remove it, or the bracket before it")
        }
        ron::Error::Eof => ("the file ends too early", "a closing bracket is missing"),
        ron::Error::ExpectedComma => ("expected a comma", "separate fields and list elements by commas"),
        ron::Error::ExpectedStructLike => {
            ("expected its parameters in round brackets", "`laggard list NAME` shows how it is written")
        }
        ron::Error::ExpectedBoolean => ("expected true or false", "write it without quotes"),
        ron::Error::ExpectedArray => ("expected a list", "write it in square brackets: [ … ]"),
        ron::Error::ExpectedFloat => ("expected a number", "write it plainly, as 1.5 or 2e-3, without quotes"),
        ron::Error::ExpectedInteger | ron::Error::InvalidIntegerDigit { .. } => {
            ("expected a whole number", "write it in digits, as 1000 or 1_000")
        }
        ron::Error::ExpectedNamedStructLike("Scenario") => {
            ("expected `Scenario(…)`", "the file is empty, or begins with something else; README.md shows a scenario")
        }
        ron::Error::ExpectedNamedStructLike("Sweep") => {
            ("expected `Sweep(…)`", "the file is empty, or begins with something else; docs/sweeps.md shows a sweep")
        }
        ron::Error::SuggestRawIdentifier(found) => {
            let help = "`laggard list` shows the names, and the numbers that belong to them".to_owned();
            return (format!("expected a name, found {found}"), Some(help));
        }
        other => return (other.to_string(), Some("`laggard list` shows how every part is written".to_owned())),
    };
    (message.to_owned(), Some(help.to_owned()))
}

/// What to do with a document of another kind.
fn other_document(expected: &str, found: &str) -> String {
    match found {
        "Sweep" => "this is a sweep: give it to `laggard sweep` or `laggard tune`".to_owned(),
        "Scenario" => "this is a scenario: give it to `laggard run`, or name it in a sweep".to_owned(),
        _ => format!("write the document as {expected}( … )"),
    }
}

/// The number with a fraction around a byte of the text, if that is what stands there: where a whole number is wanted, RON
/// stops reading at the point, and wonders where the comma is.
fn number_around(text: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let start = text[..at].trim_end_matches(digit).len();
    let end = text.len() - text[at..].trim_start_matches(digit).len();
    let number = &text[start..end];
    // Reading stopped at the point itself: elsewhere it really is a comma that is missing.
    let stopped = text[at..].trim_start_matches('.').len() < text[at..].len() || text[..at].ends_with('.');
    (stopped && number.contains('.') && number.parse::<f64>().is_ok()).then_some(start..end)
}

/// The field that an unknown one was probably meant to be: that it is missing then is the same mistake.
fn meant(code: &ron::Error) -> Option<String> {
    match code {
        ron::Error::NoSuchStructField { expected, found, .. } => closest(found, expected).map(str::to_owned),
        _ => None,
    }
}
