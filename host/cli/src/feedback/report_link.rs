//! Where an issue can be sent on: a link that opens a message to a package's maintainers, or a new issue of their tracker, with what is
//! known filled in. Nothing is sent: a person who follows it sees it first, and decides.

use crate::feedback::issues::Issue;
use std::fmt::Write;

/// The longest link: longer ones are cut by some programs that open them.
pub(crate) const LINK_BYTES_MAX: usize = 8 << 10;
/// The most characters of a subject.
const SUBJECT_CHARS_MAX: usize = 80;
/// What stands at the end of a body that is not whole.
const CUT: &str = "…";

/// The link of an issue about a package that says where its maintainers are; `None` for an address that is known to take neither. What it
/// says is what the issue says, which holds no credentials and personal data, and nothing of this machine's instances.
pub(crate) fn of(issue: &Issue) -> Option<String> {
    let address = issue.report_to.as_deref()?;
    let (address, subject, body, line_end) = match address.strip_prefix("mailto:") {
        Some(_) => (address.to_owned(), "subject", "body", "\r\n"),
        None => {
            let (page, subject, body) = tracker(address)?;
            (page, subject, body, "\n")
        }
    };
    let mark = if address.contains('?') { '&' } else { '?' };
    let kind = serde_json::to_value(issue.kind).ok()?;
    let first = issue.message.lines().next().unwrap_or_default();
    let title = format!("{}: {first}", kind.as_str().unwrap_or_default());
    let title: String = title.chars().take(SUBJECT_CHARS_MAX).collect();
    let mut link = format!("{address}{mark}{subject}={}&{body}=", encoded(&title, usize::MAX)?);
    let room = LINK_BYTES_MAX.checked_sub(link.len())?;
    let text = said(issue).replace('\n', line_end);
    match encoded(&text, room) {
        Some(whole) => link.push_str(&whole),
        None => link.push_str(&cut(&text, room)?),
    }
    Some(link)
}

/// The page of a tracker on which a new issue is written, and what it calls title and text: as GitHub, Gitea and Forgejo do, or GitLab.
fn tracker(address: &str) -> Option<(String, &'static str, &'static str)> {
    let page = address.split(['?', '#']).next()?.trim_end_matches('/');
    let issues = page.strip_suffix("/new").unwrap_or(page);
    let (subject, body) = match issues.strip_suffix("/issues")? {
        project if project.ends_with("/-") => ("issue[title]", "issue[description]"),
        _ => ("title", "body"),
    };
    Some((format!("{issues}/new"), subject, body))
}

/// What an issue says, in lines.
fn said(issue: &Issue) -> String {
    let mut text = format!("{}\n", issue.message);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, "\n{name}: {value}");
        }
    };
    if let Some(about) = &issue.package {
        let version = about.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        line("package", Some(format!("{}{version}", about.slug)));
        line("digest", about.digest.map(|digest| digest.to_string()));
        line("entry", about.entry.map(|entry| entry.to_string()));
    }
    line("call", issue.context.clone());
    line("exit status", issue.exit_code.map(|status| status.to_string()));
    line("hutch", Some(issue.version.clone()));
    text
}

/// A text in a link (RFC 3986), unless it is longer than that.
fn encoded(text: &str, bytes_max: usize) -> Option<String> {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            byte => drop(write!(encoded, "%{byte:02X}")),
        }
        if encoded.len() > bytes_max {
            return None;
        }
    }
    Some(encoded)
}

/// As many of a text's characters as fit, and that there were more.
fn cut(text: &str, bytes_max: usize) -> Option<String> {
    let end = encoded(CUT, bytes_max)?;
    let mut kept = String::new();
    for letter in text.chars() {
        let letter = encoded(letter.encode_utf8(&mut [0; 4]), usize::MAX)?;
        if kept.len() + letter.len() + end.len() > bytes_max {
            break;
        }
        kept.push_str(&letter);
    }
    Some(kept + &end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::issues::{About, Kind, Status};
    use hutch_model::instant::Instant;

    fn issue(to: &str, message: &str) -> Issue {
        let about = About {
            slug: "todo".to_owned(),
            version: Some("0.2.0".to_owned()),
            digest: None,
            instance: Some("my-diary".to_owned()),
            entry: None,
        };
        Issue {
            id: "is_0001".to_owned(),
            kind: Kind::Bug,
            status: Status::Open,
            message: message.to_owned(),
            version: "0.1.0".to_owned(),
            context: Some("hutch run todo get & see #1".to_owned()),
            exit_code: Some(20),
            package: Some(about),
            report_to: Some(to.to_owned()),
            created_at: Instant::default(),
            updated_at: Instant::default(),
        }
    }

    /// What stands behind a name in a link, read back.
    fn part(link: &str, name: &str) -> String {
        let query = link.split_once('?').unwrap().1;
        let value = query.split('&').find_map(|part| part.strip_prefix(&format!("{name}="))).unwrap();
        let (mut bytes, mut rest) = (Vec::new(), value.bytes());
        while let Some(byte) = rest.next() {
            let hexadecimal = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
            match byte {
                b'%' => bytes.push(hexadecimal(rest.next().unwrap()) << 4 | hexadecimal(rest.next().unwrap())),
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_message_or_an_issue_is_begun_with_what_is_known() {
        let text = "the sum is wrong\n& more\n\npackage: todo 0.2.0\ncall: hutch run todo get & see #1\nexit status: 20\nhutch: 0.1.0";
        for (to, begins, title, body) in [
            ("mailto:a@example.com", "mailto:a@example.com?subject=bug%3A%20the", "subject", "body"),
            (
                "mailto:a@example.com?cc=b@example.com",
                "mailto:a@example.com?cc=b@example.com&subject=",
                "subject",
                "body",
            ),
            ("https://github.com/o/r/issues", "https://github.com/o/r/issues/new?title=", "title", "body"),
            ("https://codeberg.org/o/r/issues/new/", "https://codeberg.org/o/r/issues/new?title=", "title", "body"),
            (
                "https://example.com/g/p/-/issues?x=1#y",
                "https://example.com/g/p/-/issues/new?issue[title]=",
                "issue[title]",
                "issue[description]",
            ),
        ] {
            let link = of(&issue(to, "the sum is wrong\n& more")).unwrap();
            assert!(link.starts_with(begins), "{link}");
            assert_eq!(part(&link, title), "bug: the sum is wrong");
            assert_eq!(part(&link, body).replace("\r\n", "\n"), text);
            assert!(!link.contains("my-diary") && !link.contains([' ', '\n', '#', '"']), "{link}");
        }
        for to in ["https://example.com/contact", "https://example.com/", "https://example.com/issues-of-ours"] {
            assert_eq!(of(&issue(to, "m")), None, "{to}");
        }
    }

    #[test]
    fn however_long_an_issue_is_its_link_is_not() {
        for message in ["x".repeat(10_000), "ü\u{1f600}".repeat(5_000), "\n".repeat(10_000)] {
            for to in ["mailto:a@example.com", "https://example.com/o/r/issues"] {
                let link = of(&issue(to, &message)).unwrap();
                assert!(link.len() <= LINK_BYTES_MAX && link.len() > LINK_BYTES_MAX - 16, "{}", link.len());
                assert!(part(&link, "body").ends_with(CUT));
            }
        }
        let long = format!("https://example.com/{}/issues", "x".repeat(LINK_BYTES_MAX));
        assert_eq!(of(&issue(&long, "m")), None);
    }
}
