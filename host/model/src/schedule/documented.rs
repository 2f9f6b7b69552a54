//! What the body of `APP.md` documents about scheduling. No command is made up: what counts is a declared command in backticks, in a
//! section whose heading speaks of scheduling (seed `agent-applications-cli-runtime`, "Scheduling commands").

use crate::manifest::{Manifest, Scheduling};
use crate::names::CommandPath;
use std::collections::{BTreeMap, BTreeSet};

/// As much of a line as is read: what is written for people is shorter.
const LINE_BYTES_MAX: usize = 4096;

/// A command that is documented for scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Documented<'m> {
    /// The command, as the manifest declares it.
    pub command: &'m CommandPath,
    /// The line of `APP.md` that names it first.
    pub line: u32,
}

/// The commands that a manifest documents for scheduling, in the order of their first mention; none unless it says that scheduling is
/// supported.
pub fn documented(manifest: &Manifest) -> Vec<Documented<'_>> {
    match manifest.scheduling() {
        Some(Scheduling::Supported) => {
            in_body(manifest.body(), manifest.body_line(), manifest.slug().as_str(), manifest.commands())
        }
        _ => Vec::new(),
    }
}

/// The same, before there is a manifest.
pub(crate) fn in_body<'m>(body: &str, first: u32, slug: &'m str, commands: &'m [CommandPath]) -> Vec<Documented<'m>> {
    let known = Known::of(slug, commands);
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut section = Section::default();
    let lines: Vec<&str> = body.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let line = line.get(..line.floor_char_boundary(LINE_BYTES_MAX)).unwrap_or(line);
        let spans: Vec<&str> = match section.reads(line, lines.get(at + 1).copied()) {
            Line::Code => vec![line],
            Line::Prose => spans(line),
            Line::Other => continue,
        };
        let line = first.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        for command in spans.into_iter().filter_map(|span| known.called(span)) {
            if seen.insert(command.as_str()) {
                found.push(Documented { command, line });
            }
        }
    }
    found
}

/// What a line of Markdown is to this reader.
enum Line {
    /// Of a block of code in a section about scheduling.
    Code,
    /// Of its prose.
    Prose,
    /// Of anything else: another section, a heading, a fence.
    Other,
}

/// Where in a Markdown text a reader is: in a block of code, in a section about scheduling.
#[derive(Default)]
struct Section {
    /// The fence that would end the block of code.
    fence: Option<(char, usize)>,
    /// The level of the heading that speaks of scheduling, while its section lasts.
    level: Option<usize>,
}

impl Section {
    fn reads(&mut self, line: &str, next: Option<&str>) -> Line {
        let within = self.level.is_some();
        if let Some((letter, length)) = self.fence {
            let ends =
                fence(line).is_some_and(|(found, count, rest)| found == letter && count >= length && rest.is_empty());
            if ends {
                self.fence = None;
            }
            return if within && !ends { Line::Code } else { Line::Other };
        }
        if let Some((letter, length, _)) = fence(line) {
            self.fence = Some((letter, length));
            return Line::Other;
        }
        if let Some((level, title)) = heading(line, next) {
            if self.level.is_none_or(|open| level <= open) {
                self.level = title.to_lowercase().contains("schedul").then_some(level);
            }
            return Line::Other;
        }
        if within { Line::Prose } else { Line::Other }
    }
}

/// A line without what may stand before a block's mark; `None` where it is indented like code.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then(|| text.trim_end())
}

/// The letter and the length of a fence, and what stands behind it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = unindented(line)?;
    let letter = text.chars().next().filter(|letter| ['`', '~'].contains(letter))?;
    let rest = text.trim_start_matches(letter);
    let length = text.len() - rest.len();
    (length >= 3 && !(letter == '`' && rest.contains('`'))).then(|| (letter, length, rest.trim()))
}

/// The level and the text of a heading, of either form.
fn heading<'l>(line: &'l str, next: Option<&str>) -> Option<(usize, &'l str)> {
    let text = unindented(line)?;
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    if (1..=6).contains(&level) && (title.is_empty() || title.starts_with(' ')) {
        return Some((level, title));
    }
    let under = next.and_then(unindented).filter(|under| !under.is_empty() && !text.is_empty())?;
    match () {
        () if under.chars().all(|letter| letter == '=') => Some((1, text)),
        () if under.chars().all(|letter| letter == '-') => Some((2, text)),
        () => None,
    }
}

/// What stands in backticks in a line: a run of them ends at the next run of the same length.
fn spans(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let opened = rest.get(at..).unwrap_or_default();
        let inner = opened.trim_start_matches('`');
        let marks = opened.get(..opened.len() - inner.len()).unwrap_or_default();
        match closing(inner, marks.len()) {
            Some(end) => {
                found.push(inner.get(..end).unwrap_or_default());
                rest = inner.get(end + marks.len()..).unwrap_or_default();
            }
            None => rest = inner,
        }
    }
    found
}

fn closing(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text.get(at..)?.find('`') {
        let start = at + next;
        let run = text.get(start..)?.bytes().take_while(|byte| *byte == b'`').count();
        if run == length {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// The declared commands by their words.
struct Known<'m> {
    name: &'m str,
    commands: BTreeMap<Vec<&'m str>, &'m CommandPath>,
    words_max: usize,
}

impl<'m> Known<'m> {
    fn of(name: &'m str, commands: &'m [CommandPath]) -> Known<'m> {
        let commands: BTreeMap<Vec<&str>, _> =
            commands.iter().map(|command| (command.as_str().split(' ').collect(), command)).collect();
        let words_max = commands.keys().map(Vec::len).max().unwrap_or_default();
        Known { name, commands, words_max }
    }

    /// The command that a text calls: the longest that its words begin with, behind a prompt and the application's name if they are
    /// there.
    fn called(&self, text: &str) -> Option<&'m CommandPath> {
        let mut words = text.split_whitespace().peekable();
        let _prompt = words.next_if(|word| *word == "$");
        let _name = words.next_if(|word| *word == self.name && !self.commands.contains_key(&[*word][..]));
        let words: Vec<&str> = words.take(self.words_max).collect();
        (1..=words.len()).rev().find_map(|count| self.commands.get(words.get(..count)?)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<String> {
        let commands: Vec<CommandPath> =
            ["due", "list", "reminder", "reminder set", "run"].map(|path| CommandPath::parse(path).unwrap()).into();
        in_body(body, 10, "todo", &commands).into_iter().map(|one| format!("{}:{}", one.line, one.command)).collect()
    }

    #[test]
    fn declared_commands_in_backticks_of_a_section_about_scheduling_count() {
        for (body, expected) in [
            ("# Scheduling\n`due --before NOW`, then `list`.\n", &["11:due", "11:list"][..]),
            (
                "## On schedules\n\nCall `reminder set ID`, not `remind`, or `due`.\n`due`",
                &["12:reminder set", "12:due"],
            ),
            (
                "### SCHEDULED calls ###\n```sh\n$ todo due\ntodo reminder\nlist --all\n```\n",
                &["12:due", "13:reminder", "14:list"],
            ),
            ("Scheduling\n==========\n`` due ``\n", &["12:due"]),
            ("Scheduling\n---\n- `run`\n", &["12:run"]),
            ("# Scheduling\n## Parts of it\n`due`\n# Else\n`list`\n", &["12:due"]),
            ("## Scheduling\n`due`\n# Else\n`list`\n", &["11:due"]),
        ] {
            assert_eq!(found(body), expected, "{body}");
        }
    }

    #[test]
    fn a_body_made_to_be_slow_is_read_soon() {
        let runs: String = (1..600).map(|length| "`".repeat(length) + " ").collect();
        let commands: Vec<CommandPath> = (0..1000).map(|at| CommandPath::parse(&format!("c{at}")).unwrap()).collect();
        for line in [runs, "`c999` ".repeat(30_000), "`c1`\n".repeat(30_000)] {
            let body = format!("# Scheduling\n{}", [line.as_str()].repeat(4).join("\n"));
            assert!(in_body(&body, 1, "todo", &commands).len() <= 1);
        }
    }

    #[test]
    fn nothing_is_made_up() {
        for body in [
            "",
            "Call `due` on a schedule.\n",
            "# Commands\n`due`\n",
            "# Scheduling\ndue list\n",
            "# Scheduling\n`dues` `--due` `other due` `todo` `reminders`\n",
            "# Scheduling\n`` due` `\n",
            "# Other\n```\n# Scheduling\n`due`\n```\n",
            "#Scheduling\n`due`\n",
            "    # Scheduling\n`due`\n",
            "# Scheduling\n# Else\n`due`\n",
        ] {
            assert_eq!(found(body), [] as [&str; 0], "{body}");
        }
    }
}
