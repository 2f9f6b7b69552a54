//! Text that others wrote, for a terminal that must not act on it.

use crate::hidden::acts_on_terminals;
use std::borrow::Cow;

/// Without what could rewrite what a person sees: control characters but line ends and tabs, and those that turn the direction of text.
pub fn neutral(text: &str) -> Cow<'_, str> {
    match text.contains(acts_on_terminals) {
        true => {
            Cow::Owned(text.chars().map(|letter| if acts_on_terminals(letter) { '\u{fffd}' } else { letter }).collect())
        }
        false => Cow::Borrowed(text),
    }
}

/// Neutral text in one line: what is a name can't look like a line of ours.
pub fn one_line(text: &str) -> String {
    let text = neutral(text);
    text.split(['\n', '\t', '\u{2028}', '\u{2029}']).map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_replaced_and_nothing_else() {
        let wild = "a\u{1b}[2J\u{7}\r\u{202e}b\n\tc\u{9b}";
        assert_eq!(neutral(wild), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}b\n\tc\u{fffd}");
        assert!(matches!(neutral("plain ünïcode\n\t👩‍🚀"), Cow::Borrowed(_)));
    }
}
