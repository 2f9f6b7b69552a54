//! Texts for people. What they say comes from anywhere, so everything that a terminal would act on is taken out of them here, and only
//! then our own emphasis is put on: nothing else in this program writes an escape sequence.

use crate::screen::table::Table;
use crate::screen::tone::Tone;
use console::Term;
use hutch_model::instant::Instant;
use hutch_model::redact::Cleaning;
use hutch_model::terminal::{neutral, one_line};

/// Texts, and what gives them a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// One line that stands out.
    Heading(String),
    Text(String),
    /// Each line in its tone.
    Lines(Vec<(Tone, String)>),
    Table(Table),
}

/// What a text is shown on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Screen {
    /// Whether emphasis can be seen there.
    pub(crate) bold: bool,
    /// Columns, if it ends somewhere.
    pub(crate) width: Option<usize>,
    /// Lines, if that is known.
    pub(crate) height: Option<usize>,
    /// When a person looks at it, if one does: instants are told as they are from there.
    pub(crate) now: Option<Instant>,
}

impl Screen {
    pub(crate) fn of(term: &Term, now: Instant) -> Screen {
        if !term.is_term() {
            return Screen::default();
        }
        let (height, width) =
            term.size_checked().map_or((None, 80), |(height, width)| (Some(height.into()), width.into()));
        Screen { bold: is_bold_wanted(), width: Some(width), height, now: Some(now) }
    }
}

impl From<String> for Told {
    fn from(text: String) -> Told {
        Told(vec![Part::Text(text)])
    }
}

impl From<&str> for Told {
    fn from(text: &str) -> Told {
        text.to_owned().into()
    }
}

impl From<Table> for Told {
    fn from(table: Table) -> Told {
        Told(vec![Part::Table(table)])
    }
}

impl Told {
    /// A text under a heading of one line.
    pub(crate) fn under(heading: impl Into<String>, text: String) -> Told {
        Told(vec![Part::Heading(heading.into()), Part::Text(text)])
    }

    /// A text more, that begins in a line of its own.
    pub(crate) fn and(mut self, text: impl Into<String>) -> Told {
        self.0.push(Part::Text(text.into()));
        self
    }

    /// Others behind it.
    pub(crate) fn with(mut self, others: Told) -> Told {
        self.0.extend(others.0);
        self
    }

    /// Lines more, each in its tone.
    pub(crate) fn and_lines(mut self, lines: impl Iterator<Item = (Tone, String)>) -> Told {
        self.0.push(Part::Lines(lines.collect()));
        self
    }

    /// Without what its reader does not want.
    pub(crate) fn cleaned(self, cleaning: Cleaning) -> Told {
        let clean = |text: String| cleaning.text(&text).into_owned();
        Told(
            self.0
                .into_iter()
                .map(|part| match part {
                    Part::Heading(text) => Part::Heading(clean(text)),
                    Part::Text(text) => Part::Text(clean(text)),
                    Part::Lines(lines) => {
                        Part::Lines(lines.into_iter().map(|(tone, line)| (tone, clean(line))).collect())
                    }
                    Part::Table(table) => Part::Table(table.each(clean)),
                })
                .collect(),
        )
    }

    /// As it is printed.
    pub(crate) fn shown(&self, screen: Screen) -> String {
        let emphasised = |text: &str| match screen.bold {
            true => format!("\u{1b}[1m{}\u{1b}[0m", one_line(text)),
            false => one_line(text),
        };
        let plain = |text: &str| neutral(text.trim_end()).into_owned();
        let toned = |text: &str, tone: Tone| match screen.bold {
            true => tone.painted(&one_line_as_it_is(text)),
            false => one_line_as_it_is(text),
        };
        let mut parts = Vec::new();
        for part in &self.0 {
            match part {
                Part::Heading(text) => parts.push(emphasised(text)),
                Part::Text(text) => parts.push(plain(text)),
                Part::Lines(lines) => {
                    parts.extend(lines.iter().map(|(tone, line)| toned(line.trim_end(), *tone)));
                }
                Part::Table(table) => {
                    let (heading, body) = match screen.now {
                        Some(now) => table.clone().told_at(now).shown(screen.width),
                        None => table.shown(screen.width),
                    };
                    parts.push(if body.is_empty() { plain(&heading) } else { emphasised(&heading) });
                    parts.extend(body.iter().map(|line| line.iter().map(|(text, tone)| toned(text, *tone)).collect()));
                }
            }
        }
        parts.join("\n")
    }
}

/// Neutral text that breaks no line, with its blanks.
fn one_line_as_it_is(text: &str) -> String {
    neutral(text).replace(['\n', '\t', '\u{2028}', '\u{2029}'], " ")
}

/// Whether emphasis is wanted on a terminal.
#[expect(clippy::disallowed_methods, reason = "the variables say what the terminal can show")]
fn is_bold_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_short_where_a_person_looks_and_whole_elsewhere() {
        let mut table = Table::of(["AT".to_owned()], []);
        table.row([(0, "2026-04-01T09:00:00Z".to_owned())]);
        let now = "2026-04-01T09:03:59Z".parse().ok();
        let told = Told::from(table);
        assert_eq!(told.shown(Screen { now, ..Screen::default() }), "AT\n3 min ago");
        assert_eq!(told.shown(Screen::default()), "AT\n2026-04-01T09:00:00Z");
    }

    #[test]
    fn our_own_emphasis_is_all_that_a_terminal_acts_on() {
        let wild = "a\u{1b}[2J\u{7}\r\u{202e}b\n\tc\u{9b}";
        let told = Told::under("H\u{1b}[2J\nX", wild.to_owned()).and("\u{1b}]52;c;x\u{7}");
        let bold = told.shown(Screen { bold: true, ..Screen::default() });
        assert!(bold.starts_with("\u{1b}[1mH\u{fffd}[2J X\u{1b}[0m\na\u{fffd}[2J"), "{bold:?}");
        assert_eq!(bold.matches('\u{1b}').count(), 2);
        assert_eq!(told.shown(Screen::default()).matches('\u{1b}').count(), 0);
        let wild = [(Tone::Bad, "-\u{1b}[2Jx\r\ny ".to_owned()), (Tone::Plain, "\u{1b}[31mz".to_owned())];
        let told = Told::default().and_lines(wild.into_iter());
        let toned = told.shown(Screen { bold: true, ..Screen::default() });
        assert_eq!(toned, "\u{1b}[31m-\u{fffd}[2Jx\u{fffd} y\u{1b}[0m\n\u{fffd}[31mz");
        assert_eq!(told.shown(Screen::default()), "-\u{fffd}[2Jx\u{fffd} y\n\u{fffd}[31mz");
        assert_eq!(one_line("a\nerror: b\tc\r"), "a error: b c\u{fffd}");
    }
}
