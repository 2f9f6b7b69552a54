//! A regular expression, and what comes in the place of what it matches. Knows no files.

use hutch_guest::Failure;
use regex::{Regex, RegexBuilder, escape};
use regex_automata::util::interpolate;
use regex_syntax::ast::parse::Parser;

/// Bytes of memory that a compiled expression takes.
const COMPILED_BYTES_MAX: usize = 4 << 20;
/// Letters of a line that are shown, a third of them before what was found.
const CHARS_MAX: usize = 240;

hutch_guest::codes! {
    pub(crate) PATTERN_INVALID = 2: "the pattern is no regular expression", "mend it at the place that the message names, or give --literal";
    pub(crate) REPLACEMENT_INVALID = 2: "the replacement names a group that the pattern has not", "write ${1} for the first group, $$ for a dollar sign";
}

pub(crate) struct Pattern(Regex, String);

impl Pattern {
    /// Of texts as they are, if both are `literal`.
    pub(crate) fn new(text: &str, replacement: &str, literal: bool) -> Result<Self, Failure> {
        let plain = (escape(text), replacement.replace('$', "$$"));
        let (text, replacement) = if literal { plain } else { (text.to_owned(), replacement.to_owned()) };
        let mistake = Parser::new().parse(&text).err();
        let at = mistake.map(|it| format!("at character {} of the pattern: {}", it.span().start.column, it.kind()));
        let built = RegexBuilder::new(&text).multi_line(true).crlf(true).size_limit(COMPILED_BYTES_MAX).build();
        let invalid = |error: regex::Error| Failure::new(PATTERN_INVALID, at.unwrap_or_else(|| error.to_string()));
        let regex = built.map_err(invalid)?;
        let (groups, mut known) = (regex.captures_len(), true);
        let named = |name: &str| regex.capture_names().position(|it| it == Some(name)).or(Some(groups));
        interpolate::string(&replacement, |group, _| known &= group < groups, named, &mut String::new());
        let unknown = || format!("{replacement:?} names a group beyond the {} that the pattern has", groups - 1);
        if known { Ok(Self(regex, replacement)) } else { Err(Failure::new(REPLACEMENT_INVALID, unknown())) }
    }

    /// The number of each line with a match, the column of the first one, and the line or the part of it that is there.
    pub(crate) fn lines(&self, text: &str) -> impl Iterator<Item = (usize, usize, String)> {
        (1..).zip(text.lines()).filter_map(|(number, line)| {
            let column = line.get(..self.0.find(line)?.start())?.chars().count();
            let shown = line.chars().skip(column.saturating_sub(CHARS_MAX / 3)).take(CHARS_MAX).collect();
            Some((number, column + 1, shown))
        })
    }

    /// In how many places it matches, and the text with its replacement there.
    pub(crate) fn replaced(&self, text: &str) -> (usize, String) {
        (self.0.find_iter(text).count(), self.0.replace_all(text, &self.1).into_owned())
    }
}
