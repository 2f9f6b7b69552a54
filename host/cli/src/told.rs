//! Texts for people. What they say comes from anywhere, so everything that a terminal would act on is taken out of them here, and only
//! then our own emphasis is put on: nothing else in this program writes an escape sequence.

use hutch_model::redact::Cleaning;
use std::borrow::Cow;

/// A text, perhaps under a heading that stands out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    heading: Option<String>,
    body: String,
}

impl From<String> for Told {
    fn from(body: String) -> Told {
        Told { heading: None, body }
    }
}

impl From<&str> for Told {
    fn from(body: &str) -> Told {
        body.to_owned().into()
    }
}

impl Told {
    /// A text under a heading of one line.
    pub(crate) fn under(heading: impl Into<String>, body: String) -> Told {
        Told { heading: Some(heading.into()), body }
    }

    /// One line more.
    pub(crate) fn and(mut self, line: &str) -> Told {
        self.body.push('\n');
        self.body.push_str(line);
        self
    }

    /// Without what its reader does not want.
    pub(crate) fn cleaned(self, cleaning: Cleaning) -> Told {
        let clean = |text: String| cleaning.text(&text).into_owned();
        Told { heading: self.heading.map(clean), body: clean(self.body) }
    }

    /// As it is printed. `bold` says whether emphasis can be seen there.
    pub(crate) fn shown(&self, bold: bool) -> String {
        let body = neutral(self.body.trim_end());
        match &self.heading {
            None => body.into_owned(),
            Some(heading) if bold => format!("\u{1b}[1m{}\u{1b}[0m\n{body}", one_line(heading)),
            Some(heading) => format!("{}\n{body}", one_line(heading)),
        }
    }
}

/// Without what could rewrite what a person sees: control characters but line ends and tabs, and those that turn the direction of text.
pub(crate) fn neutral(text: &str) -> Cow<'_, str> {
    let acts = |letter: char| match letter {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => true,
        letter => letter.is_control(),
    };
    match text.contains(acts) {
        true => Cow::Owned(text.chars().map(|letter| if acts(letter) { '\u{fffd}' } else { letter }).collect()),
        false => Cow::Borrowed(text),
    }
}

/// The same in one line: what is a name can't look like a line of ours.
pub(crate) fn one_line(text: &str) -> String {
    let text = neutral(text);
    text.split(['\n', '\t', '\u{2028}', '\u{2029}']).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Whether emphasis is wanted on a terminal.
#[expect(clippy::disallowed_methods, reason = "the variables say what the terminal can show")]
pub(crate) fn is_bold_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_emphasis_is_all_that_a_terminal_acts_on() {
        let wild = "a\u{1b}[2J\u{7}\r\u{202e}b\n\tc\u{9b}";
        assert_eq!(neutral(wild), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}b\n\tc\u{fffd}");
        assert!(matches!(neutral("plain ünïcode\n\t👩‍🚀"), Cow::Borrowed(_)));
        let told = Told::under("H\u{1b}[2J\nX", wild.to_owned()).and("\u{1b}]52;c;x\u{7}");
        let bold = told.shown(true);
        assert!(bold.starts_with("\u{1b}[1mH\u{fffd}[2J X\u{1b}[0m\na\u{fffd}[2J"), "{bold:?}");
        assert_eq!(bold.matches('\u{1b}').count(), 2);
        assert_eq!(told.shown(false).matches('\u{1b}').count(), 0);
        assert_eq!(one_line("a\nerror: b\tc\r"), "a error: b c\u{fffd}");
    }
}
