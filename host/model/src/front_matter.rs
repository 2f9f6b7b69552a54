//! Markdown with YAML front matter, split into its parts: `APP.md` and `SKILL.md` both have this form.
//! Knows nothing about fields.

use crate::diagnostic::{Code, Diagnostic, PROBLEMS_MAX, Position, Problems, count};
use crate::hidden::hidden;
use crate::node::Node;

/// The most bytes of an `APP.md` or a `SKILL.md`.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 20;
/// The most bytes of front matter.
pub const FRONT_MATTER_BYTES_MAX: usize = 64 << 10;

/// The bytes of a text file as text, or why they are none.
///
/// # Errors
/// One diagnostic, at the first byte that is not UTF-8.
pub fn decode<'b>(bytes: &'b [u8], file: &str) -> Result<&'b str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let at = Position::of_offset(&String::from_utf8_lossy(valid), valid.len());
        Diagnostic::new(Code::NotUtf8, file, at, format!("byte {} is not UTF-8", error.valid_up_to()))
    })
}

/// A document taken apart.
pub(crate) struct Document<'t> {
    /// What stands between the two `---` lines, read.
    pub(crate) fields: Node,
    /// The same as text.
    pub(crate) front_matter: &'t str,
    /// What follows.
    pub(crate) body: &'t str,
    /// The line that the body begins on.
    pub(crate) body_line: u32,
}

/// Takes a document apart. What is wrong is reported; `None` means that there is no front matter to read.
pub(crate) fn split<'t>(text: &'t str, problems: &mut Problems) -> Option<Document<'t>> {
    if text.len() > DOCUMENT_BYTES_MAX {
        let message = format!("{} bytes, {DOCUMENT_BYTES_MAX} allowed", text.len());
        problems.report(Code::FileTooLarge, Position::START, message);
        return None;
    }
    if text.starts_with('\u{feff}') {
        problems.report(Code::ByteOrderMark, Position::START, "a byte order mark stands before the opening ---");
        return None;
    }
    if !check_characters(text, problems) {
        return None;
    }
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().unwrap_or_default();
    if !is_fence(opening) {
        problems.report(Code::FrontMatterMissing, Position::START, "expected --- on the first line");
        return None;
    }
    let start = opening.len();
    let mut end = start;
    for (front_matter_lines, line) in lines.enumerate() {
        if is_fence(line) {
            let front_matter = text.get(start..end)?;
            if front_matter.len() > FRONT_MATTER_BYTES_MAX {
                let message = format!("{} bytes of front matter, {FRONT_MATTER_BYTES_MAX} allowed", front_matter.len());
                problems.report(Code::FrontMatterTooLarge, Position::START, message);
                return None;
            }
            let body = text.get(end + line.len()..)?;
            if body.trim().is_empty() {
                let at = Position { line: count(front_matter_lines + 2), column: 1 };
                problems.report(Code::BodyEmpty, at, "nothing follows the front matter");
            }
            let fields = crate::yaml::parse(front_matter, 2, problems)?;
            // YAML can also write them as escapes.
            problems.refuse_hidden("the front matter", &fields);
            return Some(Document { fields, front_matter, body, body_line: count(front_matter_lines + 3) });
        }
        end += line.len();
    }
    problems.report(Code::FrontMatterUnclosed, Position::START, "the front matter opened here is never closed by ---");
    None
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t', '\r', '\n']) == "---"
}

fn check_characters(text: &str, problems: &mut Problems) -> bool {
    let mut found = 0;
    let mut carriage_returns = false;
    for (index, line) in text.split('\n').enumerate() {
        let (content, ends_with_return) = match line.strip_suffix('\r') {
            Some(content) => (content, true),
            None => (line, false),
        };
        let line_number = count(index + 1);
        if ends_with_return && !carriage_returns {
            carriage_returns = true;
            let at = Position { line: line_number, column: count(content.chars().count() + 1) };
            problems.report(Code::CarriageReturns, at, "this line and perhaps others end with CR LF");
        }
        let (mut column, mut counted) = (1, 0);
        for (byte, c) in hidden(content).filter(|(_, c)| *c != '\t') {
            found += 1;
            if found > PROBLEMS_MAX + 1 {
                return false;
            }
            column += content.get(counted..byte).unwrap_or_default().chars().count();
            counted = byte;
            let at = Position { line: line_number, column: count(column) };
            problems.report(Code::ControlCharacter, at, format!("U+{:04X} is not allowed", u32::from(c)));
        }
    }
    found == 0
}
