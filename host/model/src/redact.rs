//! Text without what its reader should not be shown: characters without a visible form (rule S8), and personal data or credentials
//! (rule G5), which are those of [the guard](crate::guard::credentials). Judges text by its form alone, so it finds what is written in the usual way and nothing else; JSON's ways to write a
//! character are usual ones, however deep it is nested, whether it is whole, and also within a text of JSON.

mod numbers;

use crate::document::digits;
use crate::guard::{self, credentials, is_secret_value, names_secret};
use crate::hidden::{hidden, is_unseen};
use numbers::{is_card, number};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What stands in place of personal data.
pub const REDACTED: &str = "[redacted]";

/// How often a text is read with its escapes resolved. A backslash can be escaped so that each reading takes five bytes off; texts
/// that other texts hold double their backslashes, so nobody nests them so deep without meaning to hide something.
const READINGS_MAX: u32 = 10;

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
        self.walk(value);
        // Only what goes from one text into the next could be left.
        if self.personal && !credentials(&value.to_string()).is_empty() {
            *value = Value::from(REDACTED);
        }
    }

    fn walk(self, value: &mut Value) {
        if let Some(digits) = digits(value) {
            if self.personal && is_card(digits) {
                *value = Value::from(REDACTED);
            }
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.literal(text, READINGS_MAX) {
                    *text = clean;
                }
            }
            Value::Number(number) if self.personal && is_card(&number.to_string()) => *value = Value::from(REDACTED),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            Value::Object(fields) => {
                let mut names = Names::default();
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.walk(&mut value);
                        if self.personal && is_key_of_secret(&name, &literal(&name)) && is_secret(&name, &value) {
                            value = Value::from(REDACTED);
                        }
                        (names.distinct(self.literal(&name, READINGS_MAX)).into_owned(), value)
                    })
                    .collect();
            }
            _ => {}
        }
    }

    /// Cleans a text that stands in JSON: written there it may show what it does not show by itself.
    fn literal(self, text: &str, left: u32) -> Cow<'_, str> {
        let clean = self.reading(text, left);
        let is_escaped = |c: char| matches!(c, '"' | '\\') || c.is_control();
        match self.personal && clean.contains(is_escaped) && !credentials(&literal(&clean)).is_empty() {
            true => Cow::Owned(REDACTED.to_owned()),
            false => clean,
        }
    }

    /// Cleans what somebody printed.
    pub fn bytes(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        if self.is_none() {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(self.text(&String::from_utf8_lossy(bytes)).into_owned().into_bytes())
    }

    /// Cleans a text. JSON stays JSON: its texts are cleaned, not its syntax, and a number that goes becomes a text. In anything else a
    /// character that is written as JSON writes it counts as that character; what is escaped ten times and more becomes U+FFFD, unread.
    pub fn text(self, text: &str) -> Cow<'_, str> {
        self.reading(text, READINGS_MAX)
    }

    /// Cleans a text, resolving escapes at most `left` times. What one reading finds is taken out before the next one; the answer is
    /// the last reading that found something.
    fn reading(self, text: &str, mut left: u32) -> Cow<'_, str> {
        if self.is_none() {
            return Cow::Borrowed(text);
        }
        let (mut clean, mut reading) = (None, Cow::Borrowed(text));
        loop {
            if left > 0 && self.takes_as_json(&reading) {
                let json = self.json(&reading, left - 1);
                let found = (json != *reading).then_some(json);
                return found.or(clean).map_or(Cow::Borrowed(text), Cow::Owned);
            }
            let found = match self.plain(&reading) {
                Cow::Owned(found) => Some(found),
                Cow::Borrowed(_) => None,
            };
            if let Some(found) = found {
                clean = Some(found.clone());
                reading = Cow::Owned(found);
            }
            let next = resolve(&reading, |letter| letter);
            // An escape is longer than what it stands for.
            if next.len() == reading.len() {
                return clean.map_or(Cow::Borrowed(text), Cow::Owned);
            }
            if left == 0 {
                let unread = resolve(&reading, |_| '\u{fffd}');
                return Cow::Owned(self.plain(&unread).into_owned());
            }
            left -= 1;
            reading = Cow::Owned(next.into_owned());
        }
    }

    /// Whether a text is JSON that is to be cleaned as such. A carriage return is space there, and hidden unless it ends a line.
    fn takes_as_json(self, text: &str) -> bool {
        let has_values = text.contains(|c: char| c == '"' || (self.personal && c.is_ascii_digit()));
        let has_hidden = || self.hidden && text.replace("\r\n", "").contains('\r');
        has_values && !has_hidden() && is_json(text)
    }

    /// Cleans the text literals and numbers of JSON, one after the other: there is no depth but that of literals in literals.
    fn json(self, json: &str, left: u32) -> String {
        // Line ends alone, as `without_hidden` leaves them; none stands in a literal.
        let json = if self.hidden { json.replace("\r\n", "\n") } else { json.to_owned() };
        let mut clean = String::with_capacity(json.len());
        let mut rest = &*json;
        // The names of the fields of each object around, and `None` for a list; and a secret's name, if one is right behind us.
        let (mut around, mut named) = (Vec::new(), None::<String>);
        while let Some((before, after)) = rest.split_once('"') {
            let (written, after) = after.split_at(literal_end(after));
            let after = after.strip_prefix('"').unwrap_or(after);
            let text = resolve(written, |letter| letter);
            self.numbers(before, named.is_some(), &mut clean);
            let is_value = before.trim_matches([':', ' ', '\t', '\n', '\r']).is_empty();
            let secret = named.take().filter(|_| is_value);
            Names::follow(&mut around, before);
            let is_name = after.trim_start().starts_with(':');
            let is_named = is_name
                && self.personal
                && (is_key_of_secret(&text, written) || is_key_of_secret(&text, &literal(&text)));
            named = is_named.then(|| text.to_string());
            let mut shown = self.literal(&text, left);
            if secret.as_ref().is_some_and(|name| is_secret_value(name, &shown)) {
                shown = Cow::Borrowed(REDACTED);
            }
            if let (true, Some(Some(names))) = (is_name, around.last_mut()) {
                shown = Cow::Owned(names.distinct(shown).into_owned());
            }
            // Behind such a name, and where escapes show what is not there, nobody is to wonder what stands there.
            let is_rewritten =
                secret.is_some() || (self.personal && written.contains('\\') && !credentials(written).is_empty());
            match shown == text && !is_rewritten {
                true => clean.extend(["\"", written, "\""]),
                false => clean.push_str(&literal(&shown)),
            }
            rest = after;
        }
        self.numbers(rest, named.is_some(), &mut clean);
        // Only what goes from one literal into the next could be left.
        if self.personal && !credentials(&clean).is_empty() { literal(REDACTED) } else { clean }
    }

    /// Cleans what stands between text literals of JSON. A number that is the value of a field with a secret's name goes too.
    fn numbers(self, syntax: &str, mut is_named: bool, clean: &mut String) {
        let is_outside = |c: char| !c.is_ascii_digit() && !matches!(c, '-' | '+' | '.' | 'e' | 'E');
        for token in syntax.split_inclusive(is_outside) {
            let number = token.trim_end_matches(is_outside);
            let is_number = number.contains(|c: char| c.is_ascii_digit());
            if self.personal && (is_card(number) || (is_named && is_number)) {
                clean.push_str(&literal(REDACTED));
                clean.push_str(token.get(number.len()..).unwrap_or_default());
            } else {
                clean.push_str(token);
            }
            // That of a field in it, or the next one, is another.
            is_named = is_named && token.trim_start_matches(':').trim().is_empty();
        }
    }

    fn plain(self, text: &str) -> Cow<'_, str> {
        // Personal data first: what is hidden in it keeps nobody from finding it.
        let text = if self.personal { without_personal_data(text) } else { Cow::Borrowed(text) };
        match self.hidden.then(|| without_hidden(&text)) {
            // What took its place is looked at as well; nothing hidden is left.
            Some(Cow::Owned(seen)) => Cow::Owned(self.plain(&seen).into_owned()),
            _ => text,
        }
    }
}

/// A text as JSON.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a field of this name holds a secret, by the name itself or by how it is written in JSON.
fn is_key_of_secret(name: &str, written: &str) -> bool {
    names_secret(name) || names_secret(written)
}

fn is_secret(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => is_secret_value(name, text),
        Value::Number(_) => true,
        value => digits(value).is_some(),
    }
}

/// The names of one object's fields, so that none that was cleaned becomes that of another.
#[derive(Default)]
struct Names(BTreeMap<String, u32>);

impl Names {
    /// The name, or one like it that no field before it has.
    fn distinct<'t>(&mut self, name: Cow<'t, str>) -> Cow<'t, str> {
        if !name.contains(REDACTED) && !name.contains('\u{fffd}') {
            return name;
        }
        let Some(mut number) = self.0.get(&*name).copied() else {
            self.0.insert(name.clone().into_owned(), 1);
            return name;
        };
        loop {
            number += 1;
            let other = format!("{name} {number}");
            if !self.0.contains_key(&other) {
                self.0.insert(other.clone(), 1);
                self.0.insert(name.into_owned(), number);
                return Cow::Owned(other);
            }
        }
    }

    /// Follows the brackets of JSON into objects and lists and out of them.
    fn follow(around: &mut Vec<Option<Names>>, syntax: &str) {
        for c in syntax.chars() {
            match c {
                '{' => around.push(Some(Names::default())),
                '[' => around.push(None),
                '}' | ']' => drop(around.pop()),
                _ => {}
            }
        }
    }
}

/// Whether a secret stands somewhere in what somebody printed: as it is, or with characters written as JSON writes them, also in a
/// text of JSON. What is escaped deeper than is read may hold it.
pub fn holds(bytes: &[u8], secret: &str) -> bool {
    let mut reading = String::from_utf8_lossy(bytes);
    for _ in 0..=READINGS_MAX {
        if reading.contains(secret) {
            return true;
        }
        let next = resolve(&reading, |letter| letter);
        if next.len() == reading.len() {
            return false;
        }
        reading = Cow::Owned(next.into_owned());
    }
    true
}

/// Whether a text is JSON documents and nothing else, nested as deep as they like. Numbers beside each other are a row of numbers.
fn is_json(text: &str) -> bool {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let (mut from, mut is_beside_number) = (0, false);
    while let Some(document) = documents.next() {
        if document.is_err() {
            return false;
        }
        let document = text.get(from..documents.byte_offset()).unwrap_or_default();
        from = documents.byte_offset();
        let is_number = document.trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if is_number && is_beside_number && !document.contains('\n') {
            return false;
        }
        is_beside_number = is_number;
    }
    true
}

/// Where a text literal of JSON ends, from behind its first quotation mark.
fn literal_end(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// A text with what `shown` says of a character in place of each of JSON's escapes. What is no escape stays; half a pair of surrogates
/// is a character that has no form.
fn resolve(text: &str, shown: impl Fn(char) -> char) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let simple = after.bytes().next().and_then(|byte| {
            Some(match byte {
                b'"' | b'\\' | b'/' => char::from(byte),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                _ => return None,
            })
        });
        rest = match (simple, unit(after)) {
            (Some(letter), _) => {
                out.push(shown(letter));
                after.get(1..).unwrap_or_default()
            }
            (None, Some((first, after))) => {
                let second = after.strip_prefix('\\').and_then(unit).filter(|_| (0xd800..0xdc00).contains(&first));
                let (letter, after) = match second {
                    Some((second, after)) if (0xdc00..0xe000).contains(&second) => {
                        (char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)), after)
                    }
                    _ => (char::from_u32(first), after),
                };
                out.push(shown(letter.unwrap_or('\u{fffd}')));
                after
            }
            (None, None) => {
                out.push('\\');
                after
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The number of `uXXXX` at the beginning of a text, and what follows it.
fn unit(text: &str) -> Option<(u32, &str)> {
    let (digits, after) = text.strip_prefix('u')?.split_at_checked(4)?;
    let unit = digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())??;
    Some((unit, after))
}

/// Without what is [`hidden`] but line ends and tabs: each such character is replaced by U+FFFD, and a carriage return with the line's end
/// behind it by that end. They can rewrite a terminal, or hide instructions from a person that a program reads.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    if !hidden(text).any(|(_, c)| is_unseen(c)) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (at, c) in hidden(&text).filter(|(_, c)| is_unseen(*c)) {
        out.push_str(text.get(from..at).unwrap_or_default());
        out.push('\u{fffd}');
        from = at + c.len_utf8();
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// How often what was cut is looked at again. A text that shows more and more by it is not shown.
const ROUNDS_MAX: u32 = 8;

/// Without mail addresses, telephone numbers with a country code, payment card numbers and credentials.
pub fn without_personal_data(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    for _ in 0..ROUNDS_MAX {
        let cut = guard::without(&clean);
        match without_persons(cut.as_deref().unwrap_or(&clean)).or(cut) {
            Some(next) => clean = Cow::Owned(next),
            None => return clean,
        }
    }
    Cow::Borrowed(REDACTED)
}

/// Without mail addresses and numbers, if there are any.
fn without_persons(text: &str) -> Option<String> {
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
        // What nobody sees is no part of what stands behind it.
        let around = |c: char| is_unseen(c) || c == '\u{fffd}';
        let before = word.len() - word.trim_start_matches(around).len();
        let number_bytes = number(rest.get(before..).unwrap_or_default());
        if number_bytes > 0 {
            out.push_str(word.get(..before).unwrap_or_default());
            out.push_str(REDACTED);
            rest = rest.get(before + number_bytes..).unwrap_or_default();
            found = true;
        } else {
            // Neither is a full stop that ends a sentence.
            let core = word.get(before..).unwrap_or_default().trim_end_matches(|c| around(c) || c == '.' || c == ':');
            // What nobody sees may stand in it, keep it apart from what is before and behind it, or be shown as what it is.
            let seen: String = core.chars().filter(|c| !is_unseen(*c)).collect();
            let shown: String = core.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect();
            let mut readings = [seen.as_str(), shown.as_str()].into_iter().chain(core.split(is_unseen));
            if readings.any(is_mail) {
                out.push_str(word.get(..before).unwrap_or_default());
                out.push_str(REDACTED);
                out.push_str(word.get(before + core.len()..).unwrap_or_default());
                found = true;
            } else {
                out.push_str(word);
            }
            rest = rest.get(word_bytes..).unwrap_or_default();
        }
    }
    found.then_some(out)
}

fn is_boundary(c: char) -> bool {
    (c.is_whitespace() && !is_unseen(c))
        || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '=')
}

fn is_mail(word: &str) -> bool {
    let word = word.strip_prefix("mailto:").unwrap_or(word);
    let Some((name, host)) = word.split_once('@') else { return false };
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '-');
    !name.is_empty() && host.contains('.') && host.split('.').all(part)
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
            ("\u{9b}ada@exa\u{200b}mple.org\u{fffd}.", "\u{9b}[redacted]\u{fffd}."),
            ("6666666.333333 is a fraction", "6666666.333333 is a fraction"),
            ("4111 1111 1111 1111円", "[redacted]円"),
            ("4111\u{200b}1111\u{200b}11111111", "[redacted]"),
            // What nobody sees may also stand between a number and digits that are none of it.
            ("+48 12615 456\u{0}783145 4590", "[redacted]\u{0}783145 4590"),
            // Numbers one behind the other, and digits that are none.
            ("4111 1111 1111 1111 5500 0000 0000 0004", "[redacted] [redacted]"),
            ("call +49 30 1234567 4111 1111 1111 1111 today", "call [redacted] [redacted] today"),
            ("1 2 3 4 5 6 7 8 9 0 0 0 0 0 0 0 0 4", "1 2 3 4 5 6 7 8 9 0 0 0 0 0 0 0 0 4"),
            ("card +49 30 1234567 9111 1111 1711 11111 1\u{fffd}1", "card [redacted] 1111 1711 11111 1\u{fffd}1"),
            ("call +\u{200b}49 30 1234567 or +(49) 30 1234567", "call [redacted] or [redacted]"),
            ("\u{200b}4111 1111 1111 1111 \u{fffd}+49 30 1234567", "\u{200b}[redacted] \u{fffd}[redacted]"),
            ("4111 1111 1111 1111\u{200b}12345", "[redacted]\u{200b}12345"),
            ("key\u{0}sk-abcdefghij0123456789x", "key\u{0}[redacted]"),
            ("5://0:\u{e}@", "5://0:\u{e}@"),
            ("5://0:\u{e}x@", "5://0:[redacted]@"),
            ("ada@example.org\u{200b}b@c", "[redacted]"),
            // Space that is taken for hidden parts no words.
            ("ghp_abcdefghijk:yz\u{b}@example.org", "[redacted]"),
        ] {
            assert_eq!(without_personal_data(text), expect);
        }
    }

    const ALL: Cleaning = Cleaning { hidden: true, personal: true };

    #[test]
    fn json_is_cleaned_however_it_is_written() {
        let deep = |text: &str| format!("{}{text}{}", "[".repeat(5000), "]".repeat(5000));
        for (text, expect) in [
            (r#"{"a": "bob@example.org", "bob@example.org":1 }"#, r#"{"a": "[redacted]", "[redacted]":1 }"#),
            (r#"{"a":"bob\u0040example.org"}"#, r#"{"a":"[redacted]"}"#),
            (
                r#"["\u202e", "\ud83d\ude00 \n \"x\" \/ \u0041"]"#,
                "[\"\u{fffd}\", \"\\ud83d\\ude00 \\n \\\"x\\\" \\/ \\u0041\"]",
            ),
            (r#"["\ud800 bob\u0040example.org"]"#, "[\"\u{fffd} [redacted]\"]"),
            (
                r#"{"a@x.org":1,"b@x.org":[2],"[redacted]":3}"#,
                r#"{"[redacted]":1,"[redacted] 2":[2],"[redacted] 3":3}"#,
            ),
            (
                r#"{"password": 4711, "api_key":"x", "secret":null, "token":{"a":"x","n":1}}"#,
                r#"{"password": "[redacted]", "api_key":"[redacted]", "secret":null, "token":{"a":"x","n":1}}"#,
            ),
            // A folder as it is written, and none as it is cleaned.
            (r#"{"pwd": "\\u0074oken=x", "cwd": "/x"}"#, r#"{"pwd": "[redacted]", "cwd": "/x"}"#),
            ("[4111111111111111]", r#"["[redacted]"]"#),
            // A document in a document in a document.
            (r#"["[\"[\\\"bob\\\\u0040example.org\\\"]\"]"]"#, r#"["[\"[\\\"[redacted]\\\"]\"]"]"#),
            // One a line.
            (
                "{\"a\":\"bob\\u0040example.org\"}\n{\"b\":\"x\\u0022\"}\n",
                "{\"a\":\"[redacted]\"}\n{\"b\":\"x\\u0022\"}\n",
            ),
            // Cut off, or never JSON.
            (r#"{"a":"bob\u0040example.org","b":"#, r#"{"a":"[redacted]","b":"#),
            (r#""x" "bob\u0040example.org" y"#, r#""x" "[redacted]" y"#),
            (r"bob\u0040example.org \u202e", "[redacted] \u{fffd}"),
            (r#"x "[\"bob\\u0040example.org\"]""#, r#"x "["[redacted]"]""#),
            (r"C:\users\n\u00zz \", r"C:\users\n\u00zz \"),
            (
                r#"{"card": 4111111111111111, "no": [-4111111111111111, 4111111111111111.5]}"#,
                r#"{"card": "[redacted]", "no": [-4111111111111111, 4111111111111111.5]}"#,
            ),
            ("4111 1111 1111 1111{\"a\":\"\\u001b\"}", "[redacted]{\"a\":\"\u{fffd}\"}"),
            ("{\"a\":\"\\n\"}\r\n", "{\"a\":\"\\n\"}\n"),
            // What begins the line again is hidden, also where JSON has space.
            ("[\r\"bob\\u0040example.org\"]", "[\u{fffd}\"[redacted]\"]"),
        ] {
            assert_eq!(ALL.text(text), expect, "{text}");
            if !text.contains('\n') {
                assert_eq!(ALL.text(&deep(text)), deep(expect), "{text}");
            }
        }
    }

    /// Each reading takes five bytes off such a text; it takes as little time and memory as any other.
    #[test]
    fn backslashes_that_are_escaped_again_and_again_are_not_followed() {
        let hidden = |depth| format!("\\{}u0040", "u005c".repeat(depth));
        for depth in [0, 1, READINGS_MAX as usize - 1] {
            assert_eq!(ALL.text(&format!("bob{}example.org", hidden(depth))), "[redacted]", "{depth}");
        }
        for depth in [READINGS_MAX as usize, 200_000] {
            for (before, after) in
                [("bob", "example.org x"), ("\"bob", "example.org\""), ("[\"[\\\"bob", "example.org\\\"]\"]")]
            {
                let text = format!("{before}{}{after}", hidden(depth));
                let clean = ALL.text(&text);
                assert!(clean.contains('\u{fffd}') && clean.len() <= text.len() + 64, "{depth} {} bytes", clean.len());
                for escape in ["\\\\u0040", "\\u005c", "@"] {
                    assert!(!clean.contains(escape), "{depth}: {escape} is left");
                }
            }
        }
        let drawing = r"/\\\\\\\\ \\\\\\\\ \\\\".repeat(3);
        assert_eq!(ALL.text(&drawing), drawing);
    }

    #[test]
    fn a_secret_is_found_however_json_writes_it() {
        let secret = "hun\"ter\\2\n";
        let mut written = secret.to_owned();
        for _ in 0..4 {
            assert!(holds(format!("x{written}y").as_bytes(), secret), "{written}");
            written = Value::from(written).to_string();
        }
        assert!(holds(br"\u0068unter2", "hunter2") && holds(b"\xff hunter2", "hunter2"));
        assert!(holds(format!("\\{}", "u005c".repeat(100)).as_bytes(), "hunter2"), "what is not read may be it");
        assert!(!holds(br"hunter \u0032 \n", "hunter2") && !holds(b"", "hunter2"));
    }

    /// Each reading is cleaned: what one shows, the next may hide again.
    #[test]
    fn what_only_one_reading_shows_is_found() {
        assert_eq!(ALL.text(r"4111 1111 1111 1111\u0041 bob\u0040example.org"), "[redacted]A [redacted]");
        assert_eq!(ALL.text(r"bob@example.org C:\new"), r"[redacted] C:\new");
    }

    #[test]
    fn nothing_is_changed_where_nothing_is_found() {
        let text = r#" {"b":1.50, "a" : ["x\/y\u00e9", 1e400, "\\"]}  "#;
        assert_eq!(ALL.text(text), text);
        assert_eq!(ALL.bytes(text.as_bytes()), text.as_bytes());
        let mut value = Value::from("[\"bob\\u0040example.org\"]");
        ALL.value(&mut value);
        assert_eq!(value, "[\"[redacted]\"]");
    }

    proptest::proptest! {
        #[test]
        fn what_json_escapes_is_read_as_it_was(text in ".{0,40}") {
            let json = serde_json::Value::from(text.clone()).to_string();
            let literal = &json[1..json.len() - 1];
            proptest::prop_assert_eq!(literal_end(&json[1..]), literal.len());
            proptest::prop_assert_eq!(resolve(literal, |letter| letter).into_owned(), text);
        }
    }

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(without_hidden("a\u{1b}[2Jb\n\tc"), "a\u{fffd}[2Jb\n\tc");
        assert_eq!(without_hidden("a\u{200b}b\u{202e}c\u{e0041}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        // One alone begins a line again, over what was there.
        assert_eq!(without_hidden("{\"a\":1,\r\n\"b\":2}\r\r\n"), "{\"a\":1,\n\"b\":2}\u{fffd}\n");
        assert!(matches!(without_hidden("plain ünïcode\n"), Cow::Borrowed(_)));
    }
}
