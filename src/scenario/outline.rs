//! Where things stand in a RON text: a tree of entries with their places, for messages about values that were read long
//! ago, and for looking past one mistake to find the next. It knows brackets, commas, colons, strings and comments,
//! and nothing of what the text means.

use std::ops::Range;

/// One field or list element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The field's name; none for a list element.
    pub name: Option<String>,
    /// All of it, from the name on.
    pub span: Range<usize>,
    /// Its value.
    pub value: Range<usize>,
    /// The bracket that its value opens with, if it has any.
    pub bracket: Option<char>,
    /// What stands in them.
    pub children: Vec<Entry>,
}

/// Brackets nested more deeply than any scenario's are passed over, like what is in them.
const MAX_DEPTH: usize = 100;

/// A bracket that is open.
#[derive(Default)]
struct Open {
    /// Entries that are complete.
    entries: Vec<Entry>,
    /// The entry being read: it begins at the first thing after the bracket or comma.
    start: Option<usize>,
    end: usize,
    colon: Option<usize>,
    bracket: Option<char>,
    children: Vec<Entry>,
}

impl Open {
    fn reach(&mut self, from: usize, to: usize) {
        self.start.get_or_insert(from);
        self.end = to;
    }

    fn close_entry(&mut self, text: &str) {
        let children = std::mem::take(&mut self.children);
        let colon = self.colon.take();
        let bracket = self.bracket.take();
        let Some(start) = self.start.take() else { return };
        let name = colon.map(|colon| text[start..colon].trim().to_owned());
        let after = colon.map_or(start, |colon| colon + 1);
        let blank = text[after..self.end].len() - text[after..self.end].trim_start().len();
        let value = after + blank..self.end;
        self.entries.push(Entry { name, span: start..self.end, value, bracket, children });
    }
}

/// The outline of a text: an entry without a name whose children are the fields of the document.
pub fn outline(text: &str) -> Entry {
    let bytes = text.as_bytes();
    let mut stack = vec![Open::default()];
    let (mut at, mut deeper) = (0, 0usize);
    while at < bytes.len() {
        let next = token_end(text, at);
        let nested = stack.len() > 1;
        let deepest = stack.len() > MAX_DEPTH;
        let top = stack.last_mut().expect("the bottom of the stack is never popped");
        match bytes[at] {
            b'(' | b'[' | b'{' if deepest => deeper += 1,
            b')' | b']' | b'}' if deeper > 0 => deeper -= 1,
            b'(' | b'[' | b'{' => {
                top.reach(at, next);
                top.bracket = Some(char::from(bytes[at]));
                stack.push(Open::default());
            }
            b')' | b']' | b'}' if nested => {
                if let Some(mut inner) = stack.pop() {
                    inner.close_entry(text);
                    let outer = stack.last_mut().expect("the bottom of the stack is never popped");
                    outer.children.append(&mut inner.entries);
                    outer.end = next;
                }
            }
            b',' => top.close_entry(text),
            b':' if top.colon.is_none() && top.start.is_some() => {
                top.colon = Some(at);
                top.end = next;
            }
            byte if byte.is_ascii_whitespace() => {}
            b'/' if next > at + 1 => {}
            _ => top.reach(at, next),
        }
        at = next;
    }
    // Brackets that were never closed: their entries end with the text.
    while let Some(mut open) = stack.pop() {
        open.close_entry(text);
        match stack.last_mut() {
            Some(outer) => {
                outer.children.append(&mut open.entries);
                outer.end = text.len();
            }
            None => {
                let children = open.entries.pop().map(|root| root.children).unwrap_or_default();
                return Entry { name: None, span: 0..text.len(), value: 0..text.len(), bracket: None, children };
            }
        }
    }
    Entry::default()
}

/// Where the token that begins at `at` ends: a string, a comment, or one character.
fn token_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let length = if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment(rest)
    } else if rest.starts_with("r\"") || rest.starts_with("r#") {
        raw_string(rest)
    } else if rest.starts_with('"') {
        quoted(rest)
    } else {
        rest.chars().next().map_or(1, char::len_utf8)
    };
    at + length
}

fn block_comment(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|&byte| byte == b'#').count();
    if rest.as_bytes().get(1 + hashes) != Some(&b'"') {
        return 1;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let body = 2 + hashes;
    rest[body..].find(&close).map_or(rest.len(), |end| body + end + close.len())
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

impl Entry {
    /// The entry at a path of field names and list positions, or the deepest one on the way that exists.
    pub fn find(&self, path: &[String]) -> &Entry {
        let Some((first, rest)) = path.split_first() else { return self };
        let named = self.children.iter().find(|child| child.name.as_deref() == Some(first));
        let child = named.or_else(|| self.children.get(first.parse::<usize>().ok()?));
        child.map_or(self, |child| child.find(rest))
    }

    /// Whether its value has brackets.
    pub fn bracketed(&self) -> bool {
        self.bracket.is_some()
    }

    /// Whether it can be taken out of `parent`: fields and list elements can, the content of `Constant(…)` cannot.
    pub fn stands_alone(&self, parent: &Entry) -> bool {
        self.name.is_some() || parent.bracket == Some('[')
    }

    /// The innermost field or list element that contains the byte at `offset`; none if only the whole document does.
    pub fn innermost(&self, offset: usize) -> Option<&Entry> {
        // An entry's closing bracket belongs to it, and an error at its end is about it.
        let child = self.children.iter().find(|child| child.span.start <= offset && offset <= child.span.end)?;
        child.innermost(offset).or_else(|| child.stands_alone(self).then_some(child))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
// a comment (with brackets, and a colon: here
Scenario(
    objective: Quadratic(curvature: 1.0), /* another, ( */
    start: [-8.0, 2],
    workers: [
        (name: "a, b (c\"", compute: Sum(laws: [Constant(1.0), Exponential(mean: 2.0)])),
        (compute: Constant(3.0), joins_at: 1.0,),
    ],
)"#;

    fn at(path: &[&str]) -> &'static str {
        let path: Vec<String> = path.iter().map(|&step| step.to_owned()).collect();
        &TEXT[outline(TEXT).find(&path).value.clone()]
    }

    #[test]
    fn paths_lead_to_the_text_of_values() {
        assert_eq!(at(&["objective"]), "Quadratic(curvature: 1.0)");
        assert_eq!(at(&["objective", "curvature"]), "1.0");
        assert_eq!(at(&["start", "1"]), "2");
        assert_eq!(at(&["workers", "0", "name"]), r#""a, b (c\"""#);
        assert_eq!(at(&["workers", "0", "compute", "laws", "1", "mean"]), "2.0");
        assert_eq!(at(&["workers", "1", "joins_at"]), "1.0");
        assert_eq!(at(&["workers", "1", "weight"]), "(compute: Constant(3.0), joins_at: 1.0,)");
    }

    #[test]
    fn offsets_lead_to_the_innermost_entry() {
        let root = outline(TEXT);
        let innermost = |needle: &str| root.innermost(TEXT.find(needle).unwrap()).unwrap();
        assert_eq!(innermost("1.0)").name.as_deref(), Some("curvature"));
        assert_eq!(innermost("2.0").name.as_deref(), Some("mean"));
        assert_eq!(&TEXT[innermost("joins_at").span.clone()], "joins_at: 1.0");
        assert_eq!(root.innermost(0), None);
    }

    #[test]
    fn broken_texts_have_an_outline_too() {
        for text in ["", ")))", "((((", "Scenario(a: [1, 2", "\"open", "/* open", "r#\"open", "a: b: c", "é(ü: ß"] {
            assert_eq!(outline(text).span, 0..text.len());
        }
        assert_eq!(outline(&"(".repeat(100_000)).name, None);
    }
}
