//! Text without what its reader should not be shown: characters without a visible form (rule S8), and personal data or credentials
//! (rule G5). Judges text by its form alone, so it finds what is written in the usual way and nothing else.

use crate::front_matter::is_hidden;
use crate::guard::is_secret;
use serde_json::Value;
use std::borrow::Cow;

/// What stands in place of personal data.
pub const REDACTED: &str = "[redacted]";

/// What is to be taken out of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cleaning {
    /// Characters without a visible form.
    pub hidden: bool,
    /// Personal data and credentials.
    pub personal: bool,
}

impl Cleaning {
    /// Whether nothing is.
    pub fn is_none(self) -> bool {
        self == Cleaning::default()
    }

    /// Cleans every text in a value, names of fields too.
    pub fn value(self, value: &mut Value) {
        if self.is_none() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.value(&mut value);
                        (self.text(&name).into_owned(), value)
                    })
                    .collect();
            }
            _ => {}
        }
    }

    /// Cleans what somebody printed. JSON stays JSON: its texts are cleaned, not its syntax.
    pub fn bytes(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        if self.is_none() {
            return Cow::Borrowed(bytes);
        }
        if let Ok(mut value) = serde_json::from_slice::<Value>(bytes) {
            self.value(&mut value);
            return Cow::Owned(format!("{value}\n").into_bytes());
        }
        Cow::Owned(self.text(&String::from_utf8_lossy(bytes)).into_owned().into_bytes())
    }

    fn text(self, text: &str) -> Cow<'_, str> {
        let text = if self.hidden { without_hidden(text) } else { Cow::Borrowed(text) };
        match (self.personal, text) {
            (true, Cow::Borrowed(text)) => without_personal_data(text),
            (true, Cow::Owned(text)) => Cow::Owned(without_personal_data(&text).into_owned()),
            (false, text) => text,
        }
    }
}

/// Without control characters (but line ends and tabs), zero-width and bidirectional characters: each is replaced by U+FFFD. Such
/// characters can rewrite a terminal, or hide instructions from a person that a program reads.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    let bad = |c: char| (is_hidden(c) && !matches!(c, '\n' | '\t')) || is_invisible(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect())
}

/// Zero-width and direction marks, soft hyphens, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2064}' | '\u{e0000}'..='\u{e007f}')
}

/// Without mail addresses, telephone numbers with a country code, payment card numbers and credentials.
pub fn without_personal_data(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while !rest.is_empty() {
        let word_bytes = rest.find(is_boundary).unwrap_or(rest.len());
        let (word, _) = rest.split_at(word_bytes);
        if word.is_empty() {
            let boundary = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(rest.get(..boundary).unwrap_or_default());
            rest = rest.get(boundary..).unwrap_or_default();
            continue;
        }
        let number_bytes = number(rest);
        if number_bytes > 0 {
            out.push_str(REDACTED);
            rest = rest.get(number_bytes..).unwrap_or_default();
            found = true;
        } else {
            // A full stop that ends a sentence is no part of an address.
            let core = word.trim_end_matches(['.', ':']);
            if is_mail(core) || is_secret(core) {
                out.push_str(REDACTED);
                out.push_str(word.get(core.len()..).unwrap_or_default());
                found = true;
            } else {
                out.push_str(word);
            }
            rest = rest.get(word_bytes..).unwrap_or_default();
        }
    }
    if found { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '=')
}

fn is_mail(word: &str) -> bool {
    let word = word.strip_prefix("mailto:").unwrap_or(word);
    let Some((name, host)) = word.split_once('@') else { return false };
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '-');
    !name.is_empty() && host.contains('.') && host.split('.').all(part)
}

/// The bytes of a telephone or card number that the text begins with, or 0.
fn number(text: &str) -> usize {
    let mut digits = Vec::new();
    let mut end = 0;
    let mut separators = 0;
    for (at, c) in text.char_indices() {
        match c {
            '0'..='9' => {
                digits.push(c as u32 - '0' as u32);
                end = at + 1;
                separators = 0;
            }
            '+' if at == 0 => {}
            ' ' | '-' | '.' | '(' | ')' if separators < 2 && at > 0 => separators += 1,
            _ => break,
        }
        if digits.len() > 19 {
            return 0;
        }
    }
    if text.get(end..).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
        return 0;
    }
    let telephone = text.starts_with('+') && (8..=15).contains(&digits.len());
    let card = (13..=19).contains(&digits.len()) && luhn(&digits);
    if telephone || card { end } else { 0 }
}

/// The checksum of payment cards (ISO/IEC 7812-1).
fn luhn(digits: &[u32]) -> bool {
    let doubled = |(at, digit): (usize, &u32)| match (at % 2, digit * 2) {
        (0, _) => *digit,
        (_, twice) if twice > 9 => twice - 9,
        (_, twice) => twice,
    };
    digits.iter().rev().enumerate().map(doubled).sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personal_data_goes_and_the_rest_stays() {
        for (text, expect) in [
            ("write to ada@example.org.", "write to [redacted]."),
            ("<ada+x@mail.example.co.uk>, ok", "<[redacted]>, ok"),
            ("call +49 30 1234567 now", "call [redacted] now"),
            ("card 4111 1111 1111 1111!", "card [redacted]!"),
            ("key sk-abcdefghij0123456789x", "key [redacted]"),
            ("id td_0001, 2026-04-05T17:00:00Z, 3.14, a@b", "id td_0001, 2026-04-05T17:00:00Z, 3.14, a@b"),
            ("4111111111111112 is no card", "4111111111111112 is no card"),
            ("digest 41111111111111111111111111", "digest 41111111111111111111111111"),
            ("ünïcode bleibt", "ünïcode bleibt"),
        ] {
            assert_eq!(without_personal_data(text), expect);
        }
    }

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(without_hidden("a\u{1b}[2Jb\n\tc"), "a\u{fffd}[2Jb\n\tc");
        assert_eq!(without_hidden("a\u{200b}b\u{202e}c\u{e0041}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert!(matches!(without_hidden("plain ünïcode\n"), Cow::Borrowed(_)));
    }
}
