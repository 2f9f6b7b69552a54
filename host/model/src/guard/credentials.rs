//! The one finder of credentials in a text: the guard asks whether there are any, and redaction cuts them out. Goes by the tables of
//! [`forms`] alone, so it finds what vendors publish a shape of and what stands behind a name; it never says what it found.

use super::forms::{self, Rest, TOKENS};
use crate::hidden::is_unseen;
use crate::redact::REDACTED;
use std::ops::Range;

/// Names and short values are looked at as far as this, in bytes, so that no text takes longer than its length.
const LOOK_BYTES: usize = 256;

/// A credential in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credential {
    /// The bytes of it that must not be told: of `token=x` the `x`.
    pub range: Range<usize>,
    /// What it looks like. Never what it is.
    pub what: &'static str,
}

/// The credentials of a text, in their order and apart from each other. What nobody sees may stand in them, or part them from what is
/// beside them.
pub fn credentials(text: &str) -> Vec<Credential> {
    let mut found = find(text);
    if text.contains(is_unseen) {
        let (mut seen, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
        for (at, c) in text.char_indices().filter(|(_, c)| !is_unseen(*c)) {
            seen.push(c);
            places.extend(at..at + c.len_utf8());
        }
        found.extend(find(&seen).into_iter().filter_map(|Credential { range, what }| {
            let (first, last) = (places.get(range.start)?, places.get(range.end.checked_sub(1)?)?);
            Some(Credential { range: *first..*last + 1, what })
        }));
    }
    found.sort_by_key(|one| (one.range.start, one.range.end));
    let mut apart: Vec<Credential> = Vec::with_capacity(found.len());
    for one in found {
        match apart.last_mut() {
            Some(last) if one.range.start < last.range.end => last.range.end = last.range.end.max(one.range.end),
            _ => apart.push(one),
        }
    }
    apart
}

/// A text without its credentials: each is [`REDACTED`].
pub(crate) fn without(text: &str) -> Option<String> {
    let found = credentials(text);
    if found.is_empty() {
        return None;
    }
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for Credential { range, .. } in found {
        out.push_str(text.get(from..range.start).unwrap_or_default());
        out.push_str(REDACTED);
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Some(out)
}

fn find(text: &str) -> Vec<Credential> {
    let mut found = Vec::new();
    keys(text, &mut found);
    assigned(text, &mut found);
    behind_flags(text, &mut found);
    addresses(text, &mut found);
    logins(text, &mut found);
    for token in &TOKENS {
        tokens(text, token, &mut found);
    }
    found
}

fn of(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

fn is_space(c: char) -> bool {
    c.is_whitespace() && !is_unseen(c)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// Where the characters that `belongs` ends, from `at` on.
fn end_of(text: &str, at: usize, belongs: impl Fn(char) -> bool) -> usize {
    at + text.get(at..).and_then(|rest| rest.find(|c| !belongs(c))).unwrap_or(text.len() - at)
}

fn is_around(c: char) -> bool {
    is_unseen(c) || c == '\u{fffd}'
}

/// Whether a line ends here, as JSON writes it.
fn ends_line(rest: &str) -> bool {
    ["\\n", "\\r", "\\t"].iter().any(|escape| rest.starts_with(escape))
}

/// A range without what only stands around a value: what nobody sees, and what closes a sentence or a bracket.
fn bare(text: &str, range: Range<usize>) -> Range<usize> {
    let value = of(text, range.clone());
    let start = range.end - value.trim_start_matches(is_around).len();
    let closing = |c: char| is_around(c) || matches!(c, ')' | ']' | '}' | '>' | ',' | ';' | '.' | ':' | '\\');
    let value = of(text, start..range.end);
    // What is left of a redaction ends with a bracket of its own, and in JSON a line may end behind it.
    if value.strip_prefix(REDACTED).is_some_and(|rest| ends_line(rest) || rest.chars().all(closing)) {
        return start..start + REDACTED.len();
    }
    start..start + value.trim_end_matches(closing).len()
}

/// Private keys in PEM (RFC 7468), up to their end or that of the text.
fn keys(text: &str, found: &mut Vec<Credential>) {
    const BEGIN: &str = "-----BEGIN ";
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(BEGIN)).map(|at| from + at) {
        from = at + BEGIN.len();
        let label = end_of(text, from, |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' ');
        let label = of(text, from..label);
        if label.contains("PRIVATE KEY") {
            let close = format!("-----END {label}-----");
            let end =
                text.get(from..).and_then(|rest| rest.find(&close)).map_or(text.len(), |at| from + at + close.len());
            found.push(Credential { range: at..end, what: "holds a private key" });
            from = end;
        }
    }
}

const NAMED: &str = "gives a secret by its name";

/// What stands behind the name of a secret: `NAME=…`, `--set=NAME=…`, `"NAME": "…"`, `NAME: …`.
fn assigned(text: &str, found: &mut Vec<Credential>) {
    let mut judged = 0;
    for (at, sign) in text.match_indices(['=', ':']) {
        if at < judged {
            continue;
        }
        let before = text.get(..at).unwrap_or_default();
        let spaced = before.trim_end_matches([' ', '\t']);
        // A text of JSON may stand in another.
        let unquoted = spaced.trim_end_matches(is_quote).trim_end_matches('\\');
        let is_quoted = unquoted.len() < spaced.len();
        let name = unquoted.len() - name_at_end(unquoted).len();
        let name = of(text, name..unquoted.len());
        if !is_secret_name(name) {
            continue;
        }
        let begin = end_of(text, at + 1, |c| matches!(c, ' ' | '\t'));
        let quote = end_of(text, begin, |c| c == '\\');
        let quote =
            text.get(quote..).and_then(|rest| rest.chars().next()).filter(|c| is_quote(*c)).map(|c| (quote + 1, c));
        // What is no value is known by its beginning. Its end is not looked for: behind it may stand the next one, without end.
        let start = quote.map_or(begin, |(start, _)| start);
        let whole = text.get(start..).unwrap_or_default().trim_start_matches(is_around);
        let behind = whole.strip_prefix(REDACTED).or_else(|| behind_count(whole));
        if whole.starts_with('=') || behind.is_some_and(ends_line) || is_folder(name, whole) {
            continue;
        }
        let is_apart = begin > at + 1 || spaced.len() < before.len();
        // In prose a colon stands behind any word; an equals sign with spaces around it may.
        let may_be_prose = !is_quoted && (is_apart || sign == ":");
        // Without a space, an image and its tag: `api-token:1.2.0-rc1`.
        if sign == ":" && !is_quoted && !is_apart && !is_password(name) {
            continue;
        }
        let value = match quote {
            Some((start, quote)) => {
                let rest = text.get(start..).unwrap_or_default();
                // Such a quotation mark ends what the name stands in.
                if rest.starts_with([',', ':', ';', '}', ']', ')']) || (!is_quoted && rest.starts_with(is_space)) {
                    continue;
                }
                // A text of JSON ends with one of its own, whatever was opened in it.
                let end = start + rest.find(['"', quote]).unwrap_or(rest.len());
                let value = bare(text, start..end);
                if may_be_prose && !looks_made(of(text, value.clone())) {
                    continue;
                }
                value
            }
            // What is quoted and is followed by no quoted value is no name.
            None if is_quoted => continue,
            None => {
                let rest = text.get(begin..).unwrap_or_default();
                let limit = if may_be_prose { LOOK_BYTES } else { usize::MAX };
                let end =
                    rest.char_indices().find(|(byte, c)| *byte >= limit || is_space(*c) || is_quote(*c) || *c == '&');
                let value = bare(text, begin..begin + end.map_or(rest.len(), |(byte, _)| byte));
                let rest = text.get(value.end..).unwrap_or_default();
                let is_last = || {
                    let rest = rest.trim_start_matches([' ', '\t']);
                    rest.is_empty()
                        || rest.starts_with(|c: char| {
                            matches!(c, '\n' | '\r' | ',' | ';' | '&' | ')' | '}' | ']') || is_quote(c)
                        })
                };
                if may_be_prose && !(looks_made(of(text, value.clone())) && is_last()) {
                    continue;
                }
                value
            }
        };
        if !says_nothing(of(text, value.clone())) {
            judged = value.end;
            found.push(Credential { range: value, what: NAMED });
        }
    }
}

/// `--password x1!`, in one text. An argument of its own is [the guard's](super::check).
fn behind_flags(text: &str, found: &mut Vec<Credential>) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut judged = 0;
    for (at, _) in text.match_indices("--") {
        if at < judged {
            continue;
        }
        judged = end_of(text, at, is_name);
        let name = of(text, at..judged);
        let value = end_of(text, judged, |c| matches!(c, ' ' | '\t'));
        if value == judged || !is_secret_name(name) {
            continue;
        }
        let value = end_of(text, value, is_quote);
        if of(text, value..text.len()).starts_with([',', ':', ';', '}', ']', ')']) {
            continue;
        }
        let value = bare(text, value..end_of(text, value, |c| !is_space(c) && !is_quote(c)));
        if looks_made(of(text, value.clone())) && is_secret_value(name, of(text, value.clone())) {
            found.push(Credential { range: value, what: NAMED });
        }
    }
}

/// The password of `scheme://name:password@host`. One with a `/` in it is none where it would be a port and a path.
fn addresses(text: &str, found: &mut Vec<Credential>) {
    for (at, mark) in text.match_indices("://") {
        let begin = at + mark.len();
        let ends = |c: char| is_space(c) || is_quote(c) || matches!(c, '<' | '>');
        let authority = end_of(text, begin, |c| !ends(c) && !matches!(c, '/' | '?' | '#'));
        let whole = of(text, begin..authority);
        let (Some(colon), user) = (whole.find(':'), whole.rfind('@')) else { continue };
        let end = match user {
            Some(user) => begin + user,
            None => {
                let port = of(whole, colon + 1..whole.len());
                let is_port = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
                let rest = text.get(authority..).unwrap_or_default();
                let mut letters = rest.char_indices().take_while(|(byte, c)| *byte < LOOK_BYTES && !ends(*c));
                match letters.find(|(_, c)| *c == '@').filter(|_| !is_port) {
                    Some((user, _)) => authority + user,
                    None => continue,
                }
            }
        };
        let start = begin + colon + 1;
        if start < end {
            let value = bare(text, start..end);
            if !value.is_empty() && of(text, value.clone()) != REDACTED {
                found.push(Credential { range: start..end, what: "holds an address with a password" });
            }
        }
    }
}

/// `Basic` and what is `name:password` in base64 (RFC 7617).
fn logins(text: &str, found: &mut Vec<Credential>) {
    for (at, word) in text.match_indices("asic ") {
        let is_word = text.get(..at).is_some_and(|before| before.ends_with(['B', 'b']));
        let begin = at + word.len();
        let end = end_of(text, begin, |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_'));
        if is_word && is_login(of(text, begin..end)) {
            let end = end_of(text, end, |c| c == '=');
            found.push(Credential { range: begin..end, what: "looks like a password of HTTP" });
        }
    }
}

/// Whether this is `name:password` in base64, of either alphabet and without its filling.
fn is_login(text: &str) -> bool {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::with_capacity(text.len()));
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        (bits, count) = ((bits << 6 | u32::from(value)) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    let login = String::from_utf8(bytes).ok().filter(|login| !login.contains(char::is_control));
    login.is_some_and(|login| login.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
}

/// The tokens of one vendor's shape.
fn tokens(text: &str, token: &forms::Token, found: &mut Vec<Credential>) {
    // Most words are too short for any, and there are many kinds.
    let least = token.rest.least();
    if text.len() < token.prefix.len() + least {
        return;
    }
    let mut judged = 0;
    for (at, prefix) in text.match_indices(token.prefix) {
        let (before, begin) = (text.get(..at).unwrap_or_default(), at + prefix.len());
        // What is no token from an earlier place on is none from a later one: each run of characters is looked at once.
        if begin <= judged || before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        judged = end_of(text, begin, |c| token.rest.holds(c));
        if token.rest.is_token(of(text, begin..judged)) {
            // A name is none of it, and in a header more letters are (RFC 6750).
            let is_header = prefix.ends_with(' ');
            let more = |c: char| c == '.' || (is_header && matches!(c, '+' | '/' | '=' | '~')) || token.rest.holds(c);
            if matches!(token.rest, Rest::Dotted(_)) {
                judged = end_of(text, judged, more);
            } else if matches!(token.rest, Rest::Slashed(_)) {
                judged = end_of(text, judged, |c| c == '=');
            }
            let whole = of(text, begin..judged).trim_end_matches('.').len();
            let start = if is_header || prefix.ends_with('=') { begin } else { at };
            found.push(Credential { range: start..begin + whole, what: token.what });
        }
    }
}

impl Rest {
    fn least(self) -> usize {
        match self {
            Rest::Mixed(least) | Rest::Dotted(least) | Rest::Plain(least) => least,
            Rest::Hex(least) | Rest::Slashed(least) | Rest::Capitals(least, _) => least,
        }
    }

    fn holds(self, c: char) -> bool {
        let signs: &[char] = match self {
            Rest::Mixed(_) | Rest::Dotted(_) => &['-', '_'],
            Rest::Slashed(_) => &['+', '/'],
            Rest::Plain(_) | Rest::Hex(_) | Rest::Capitals(..) => &[],
        };
        c.is_ascii_alphanumeric() || signs.contains(&c)
    }

    fn is_token(self, text: &str) -> bool {
        match self {
            Rest::Capitals(least, most) => {
                let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
                (least..=most).contains(&text.len())
                    && text.bytes().all(is_capital)
                    && text.bytes().any(|byte| byte.is_ascii_digit())
            }
            Rest::Hex(count) => text.len() == count && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            _ => text.len() >= self.least() && text.split(['-', '_', '+', '/']).any(is_random),
        }
    }
}

/// Whether letters and digits are no word, no number of a version and no year: `sk-learn-tutorial-v2-2026` is harmless.
fn is_random(run: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let letters = run.trim_end_matches(is_digit);
    let digits = run.len() - letters.len();
    match (letters.is_empty(), letters.contains(is_digit)) {
        (true, _) => digits >= 9,
        // A word has an end, also with a number behind it.
        (_, false) => run.len() >= 24 || (run.len() >= 12 && digits > 4),
        (_, true) => {
            let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
            let turns = run.as_bytes().windows(2).filter(|two| matches!(two, [a, b] if kind(*a) != kind(*b))).count();
            run.len() >= 12 || (run.len() >= 8 && turns >= 3)
        }
    }
}

/// Whether a value in prose is no word: letters with digits or signs, and long enough.
fn looks_made(value: &str) -> bool {
    let value: Vec<char> = value.chars().take(LOOK_BYTES).collect();
    let has_sign = value.iter().any(|c| "!@#$%^&*+=~|\\".contains(*c) || c.is_ascii_digit());
    value.len() >= 6 && has_sign && value.iter().any(|c| c.is_alphabetic())
}

/// Whether what stands behind this name of a secret may be one.
pub(crate) fn is_secret_value(name: &str, value: &str) -> bool {
    !says_nothing(value) && !is_folder(name, value)
}

/// Whether what begins so, behind this name of a secret, is the path of a folder. In JSON a backslash may stand for what is there.
fn is_folder(name: &str, value: &str) -> bool {
    let is_pwd = || name_of(name).to_ascii_lowercase().ends_with(forms::PWD);
    let drive = |value: &str| {
        let value = value.strip_prefix(|c: char| c.is_ascii_alphabetic()).and_then(|value| value.strip_prefix(':'));
        value.is_some_and(|path| path.starts_with(['/', '\\']))
    };
    (value.starts_with(['/', '\\', '~', '.', '$']) || drive(value)) && is_pwd()
}

/// Whether a text that stands before a colon ends with the name of a secret.
pub(crate) fn names_secret(text: &str) -> bool {
    is_secret_name(name_of(text))
}

/// The name that a text ends with, whatever is closed behind it.
fn name_of(text: &str) -> &str {
    name_at_end(text.trim_end_matches(|c| is_quote(c) || c == '\\'))
}

/// Whether a value only says whether or how many, or stands where a secret was.
fn says_nothing(value: &str) -> bool {
    let words = ["true", "false", "yes", "no", "on", "off", "null", "none", REDACTED];
    value.is_empty()
        || behind_count(value).is_some_and(str::is_empty)
        || words.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// What stands behind a number that is too short for a secret, as in `Buy token=1 bus ticket`.
fn behind_count(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..=3).contains(&(text.len() - behind.len())).then_some(behind)
}

/// The name that a text ends with.
fn name_at_end(text: &str) -> &str {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = text.bytes().rev().take(LOOK_BYTES).take_while(|byte| is_name(*byte)).count();
    text.get(text.len() - length..).unwrap_or_default()
}

/// Whether a name, of a flag, of a variable or of a field, is that of a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let mut last = '_';
    let mut plain = String::with_capacity(name.len() + 4);
    for c in name.trim_start_matches('-').chars() {
        // As in `clientSecret`.
        if c.is_ascii_uppercase() && last.is_ascii_lowercase() {
            plain.push('_');
        }
        plain.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
        last = c;
    }
    let is_or_ends =
        |known: &str| plain.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('_'));
    // Where to go on reading, and whether to ask.
    if forms::PLACE_NAMES.iter().any(|known| is_or_ends(known))
        || ["ask_", "no_"].iter().any(|ask| plain.starts_with(ask))
    {
        return false;
    }
    forms::SECRET_NAMES.iter().any(|known| is_or_ends(known)) || is_password(&plain)
}

/// Whether a name ends as those of passwords do.
fn is_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    forms::SECRET_NAME_ENDINGS.iter().any(|known| name.ends_with(known))
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
