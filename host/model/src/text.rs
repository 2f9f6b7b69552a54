//! What a text of a manifest or a contract may be, wherever it comes from.

use crate::diagnostic::Code;
use crate::hidden;

/// What text a field may hold.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The most characters.
    pub(crate) characters_max: usize,
    /// Whether line ends and tabs are allowed.
    pub(crate) lines: bool,
}

impl Text {
    /// One line of up to 256 characters.
    pub const LINE: Text = Text { characters_max: 256, lines: false };
    /// Up to 1024 characters, in one line or several.
    pub const PARAGRAPH: Text = Text { characters_max: 1024, lines: true };
    /// Up to 4096 characters, in one line or several: what a contract says of its parts.
    pub const LONG: Text = Text { characters_max: 4096, lines: true };

    /// Whether a text says something, within bounds, and nothing that nobody sees.
    ///
    /// # Errors
    /// Why not.
    pub fn check(self, text: &str) -> Result<(), String> {
        hidden::check(text)?;
        self.broken(text).map_or(Ok(()), |(_, reason)| Err(reason))
    }

    /// The rule that a text breaks in which nothing is hidden.
    pub(crate) fn broken(self, text: &str) -> Option<(Code, String)> {
        if text.trim().is_empty() {
            return Some((Code::FieldEmpty, "is empty".to_owned()));
        }
        let characters = text.chars().count();
        if characters > self.characters_max {
            let reason = format!("{characters} characters, {} allowed", self.characters_max);
            return Some((Code::FieldTooLong, reason));
        }
        let c = text.trim_end_matches('\n').chars().find(|c| !self.lines && matches!(c, '\n' | '\t'))?;
        Some((Code::ControlCharacter, hidden::not_allowed(c)))
    }
}
