//! Problems of a scenario, shown with file, line, column and remedy.

use super::outline::outline;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// Something that is wrong with a scenario, by the path of the field that is to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Field names and list positions from the document inwards.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// A problem with the field at `path`, written with dots, as in `workers.0.compute`.
    pub fn at(path: &str, message: impl Into<String>) -> Problem {
        Problem { path: path.split('.').map(str::to_owned).collect(), message: message.into(), help: None }
    }

    /// The same, with a remedy.
    pub fn help(self, help: impl Into<String>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }

    /// The same, at its place in `text`.
    pub fn locate(&self, text: &str) -> Located {
        let value = outline(text).find(&self.path).value.clone();
        // A long value is marked by its beginning: the first line is enough to find it.
        let first_line = text[value.clone()].lines().next().map_or(0, str::len);
        let span = value.start..value.start + first_line.max(1).min(text.len() - value.start);
        Located { span, message: self.message.clone(), help: self.help.clone() }
    }
}

/// A problem with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// All problems of the file `path` as text for a person; `colour` adds terminal colours.
pub fn render(path: &str, text: &str, problems: &[Located], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let show = |problem: &Located| {
        let span = clamp(text, &problem.span);
        let snippet = Snippet::source(text).path(path).annotation(AnnotationKind::Primary.span(span));
        let mut group: Group = Level::ERROR.primary_title(problem.message.as_str()).element(snippet);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    };
    let shown: Vec<String> = problems.iter().map(show).collect();
    shown.join("\n\n")
}

/// A span that lies within the text, on character boundaries.
fn clamp(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start);
    let end = text.ceil_char_boundary(span.end.max(start));
    start..end
}

/// The name that is likely meant by one with a slip in it.
pub fn closest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase());
    let by_distance = names.iter().map(|name| (distance(name), *name));
    by_distance.min().filter(|(distance, name)| *distance <= name.len() / 3).map(|(_, name)| name)
}

/// The likeliest of the names meant, and all of them.
pub fn suggest(found: &str, names: &[&str], intro: &str) -> String {
    let all = format!("{intro}: {}", names.join(", "));
    closest(found, names).map_or(all.clone(), |name| format!("did you mean `{name}`? {all}"))
}
