//! The caller's line as it was typed, and edits of it. A command that mends a call is that call with one thing changed: whatever else
//! stands on the line (the home, the instance, a clock, limits) still holds, so that it can't reach another state by accident.

use crate::line::quote;
use crate::line::words::Words;

/// The line that is being carried out.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallLine {
    words: Words,
    /// The home that the environment names; it goes before the line, because the next call may be made without it.
    variable: HomeVariable,
    /// The home that the line names.
    home: Option<String>,
    /// The shape of `run`, whose flags are written behind a package by mistake.
    run: Option<fn() -> Option<clap::Command>>,
}

/// HUTCH_HOME.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum HomeVariable {
    /// It is not set, or empty.
    #[default]
    Absent,
    /// It can be written in a line.
    Text(String),
    /// It is no text: no line can name this home.
    NotText,
}

impl CallLine {
    pub(crate) fn new(words: Words, variable: HomeVariable) -> CallLine {
        CallLine { words, variable, home: None, run: None }
    }

    /// The same, beside the shape of `run`.
    pub(crate) fn beside(self, run: fn() -> Option<clap::Command>) -> CallLine {
        CallLine { run: Some(run), ..self }
    }

    /// Whether the host has a flag of this name where it runs a package.
    pub(crate) fn is_flag_of_run(&self, flag: &str) -> bool {
        let (Some(shape), Some(name)) = (self.run.and_then(|run| run()), flag.strip_prefix("--")) else { return false };
        let mut known = shape.get_arguments().chain(shape.get_subcommands().flat_map(clap::Command::get_arguments));
        known.any(|known| known.get_long() == Some(name))
    }

    /// The same, with the home that was found on the line.
    pub(crate) fn with_home(self, home: Option<String>) -> CallLine {
        CallLine { home, ..self }
    }

    /// Whether the line calls one of these commands.
    pub(crate) fn is_command(&self, names: &[&str]) -> bool {
        let last = self.words.named.checked_sub(1).and_then(|at| self.words.host.get(at));
        last.is_some_and(|name| names.contains(&name.as_str()))
    }

    /// The words, as they were split.
    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    /// The risk of carrying the line out with another word in it: what is confirmed there was said of the words that were typed, and of no
    /// guess.
    pub(crate) fn risk(&self, risk: &'static str) -> &'static str {
        if risk == "low" && self.options().any(|word| word == "--yes") { "high" } else { risk }
    }

    /// The line with a flag of the host's, in place of its opposite.
    pub(crate) fn with_flag(&self, flag: &str) -> Option<String> {
        self.written(&self.flagged(flag), &self.words.guest)
    }

    fn flagged(&self, flag: &str) -> Vec<String> {
        let opposite = flag.replacen("--", "--no-", 1);
        let (mut host, mut named) = (self.words.host.clone(), self.words.named);
        if let Some(at) = self.options().position(|word| *word == opposite) {
            host.remove(at);
            named -= usize::from(at < named);
        }
        host.insert(named, flag.to_owned());
        host
    }

    /// The line with an option of the host's, in place of the value that it has.
    pub(crate) fn with_option(&self, name: &str, value: &str) -> Option<String> {
        let mut host = self.words.host.clone();
        let with_value = format!("{name}=");
        let alone = self.options().position(|word| word == name);
        match (alone, self.options().position(|word| word.starts_with(&with_value))) {
            (Some(at), _) => *host.get_mut(at + 1)? = value.to_owned(),
            (None, Some(at)) => *host.get_mut(at)? = with_value + value,
            (None, None) => {
                host.insert(self.words.named, value.to_owned());
                host.insert(self.words.named, name.to_owned());
            }
        }
        self.written(&host, &self.words.guest)
    }

    /// The line with other words in place of one of the host's; `None` unless it is there once, so that no value is taken for it.
    pub(crate) fn replacing(&self, word: &str, by: &[&str]) -> Option<String> {
        self.reworded(word, 1, by)?.text()
    }

    /// The same, in place of so many words from it on, as a line.
    pub(crate) fn reworded(&self, word: &str, taken: usize, by: &[&str]) -> Option<CallLine> {
        let mut line = self.clone();
        let host = &mut line.words.host;
        let mut places = host.iter().enumerate().skip(1).filter(|(_, known)| *known == word).map(|(at, _)| at);
        let (Some(at), None) = (places.next(), places.next()) else { return None };
        let end = at.checked_add(taken).filter(|end| *end <= host.len())?;
        host.splice(at..end, by.iter().map(|word| (*word).to_owned()));
        Some(line)
    }

    /// The line with another name of a thing, in place of this one or, where none stands, at its end; `None` where the word may be something else.
    pub(crate) fn naming(&self, word: &str, by: &str) -> Option<CallLine> {
        let host = &self.words.host;
        let Some(at) = host.iter().position(|known| known == word) else {
            let mut line = self.clone();
            line.words.host.push(by.to_owned());
            return Some(line);
        };
        // Behind an option it may be the value of that.
        if host.get(..at)?.last()?.starts_with('-') {
            return None;
        }
        self.reworded(word, 1, &[by])
    }

    /// The line as it is written.
    pub(crate) fn text(&self) -> Option<String> {
        self.written(&self.words.host, &self.words.guest)
    }

    /// The line with other arguments in place of those that it ends with; `None` if it does not end with them.
    pub(crate) fn with_arguments(&self, arguments: &[String], by: &[String]) -> Option<String> {
        self.ending(self.words.host.clone(), arguments, by)
    }

    /// The same, with a flag of the host's besides.
    pub(crate) fn with_arguments_and_flag(&self, arguments: &[String], by: &[String], flag: &str) -> Option<String> {
        self.ending(self.flagged(flag), arguments, by)
    }

    fn ending(&self, mut line: Vec<String>, arguments: &[String], by: &[String]) -> Option<String> {
        line.extend(self.words.guest.iter().cloned());
        self.written(line.strip_suffix(arguments)?, by)
    }

    /// Another command, in the same home.
    pub(crate) fn elsewhere<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Option<String> {
        let mut host = vec![self.words.host.first().cloned().unwrap_or_else(|| "hutch".to_owned())];
        if let Some(home) = &self.home {
            host.extend(["--home".to_owned(), home.clone()]);
        }
        host.extend(words.into_iter().map(str::to_owned));
        self.written(&host, &[])
    }

    /// The host's words where options can stand.
    fn options(&self) -> impl Iterator<Item = &String> {
        self.words.host.iter().take_while(|word| *word != "--")
    }

    fn written(&self, host: &[String], guest: &[String]) -> Option<String> {
        let line = quote::line(host.iter().chain(guest).map(String::as_str));
        match &self.variable {
            _ if self.home.is_some() => Some(line),
            HomeVariable::Absent => Some(line),
            HomeVariable::Text(home) => Some(format!("HUTCH_HOME={} {line}", quote::line([home.as_str()]))),
            HomeVariable::NotText => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn line(text: &str) -> CallLine {
        let mut command = crate::arguments::command();
        command.build();
        CallLine::new(Words::split(words(text), &command), HomeVariable::Absent)
    }

    #[test]
    fn everything_else_on_the_line_stays() {
        for (typed, flagged) in [
            (
                "hutch --home h run --instance zz P rm --instance y",
                "hutch --home h run --yes --instance zz P rm --instance y",
            ),
            ("hutch run --no-yes P --no-yes", "hutch run --yes P --no-yes"),
            ("hutch --no-yes run P", "hutch run --yes P"),
            ("hutch run -- P --no-yes", "hutch run --yes -- P --no-yes"),
            ("/opt/hutch remove todo --home=h", "/opt/hutch remove --yes todo --home=h"),
            ("hutch run --env A=$(x) P", "hutch run --yes --env 'A=$(x)' P"),
        ] {
            assert_eq!(line(typed).with_flag("--yes").as_deref(), Some(flagged));
        }
        for (typed, retried) in [
            ("hutch run P --retry 2", "hutch run --retry 9 P --retry 2"),
            ("hutch run --retry 2 P", "hutch run --retry 9 P"),
            ("hutch run --retry=2 P", "hutch run --retry=9 P"),
            ("hutch run -- P --retry 2", "hutch run --retry 9 -- P --retry 2"),
        ] {
            assert_eq!(line(typed).with_option("--retry", "9").as_deref(), Some(retried));
        }
    }

    #[test]
    fn a_guess_on_a_line_that_confirms_risks_more() {
        for (typed, low) in [
            ("hutch rnu --yes P rm", "high"),
            ("hutch --yes rnu P rm", "high"),
            ("hutch run --yes P rm", "high"),
            ("hutch run P rm --yes", "low"),
            ("hutch run -- P --yes", "low"),
            ("hutch run P rm", "low"),
        ] {
            assert_eq!((line(typed).risk("low"), line(typed).risk("none")), (low, "none"), "{typed}");
        }
    }

    #[test]
    fn only_what_is_meant_is_replaced() {
        let list = ["ledger", "list"];
        assert_eq!(line("hutch log --limit 2").replacing("log", &list).unwrap(), "hutch ledger list --limit 2");
        assert_eq!(line("hutch --home log log").replacing("log", &list), None, "which of the two is not known");
        let naming = |text: &str| line(text).naming("last", "0f").and_then(|line| line.with_flag("--yes"));
        assert_eq!(naming("hutch apply P last --human").unwrap(), "hutch apply --yes P 0f --human");
        assert_eq!(naming("hutch apply --no-yes P").unwrap(), "hutch apply --yes P 0f");
        assert_eq!(naming("hutch apply --instance last P"), None, "it names something else");
        let corrected = |text: &str, wrong: &str, right: &str| line(text).with_arguments(&words(wrong), &words(right));
        assert_eq!(corrected("hutch run --seed 7 P lst x", "lst x", "list x").unwrap(), "hutch run --seed 7 P list x");
        assert_eq!(corrected("hutch run -- P lst", "lst", "list").unwrap(), "hutch run -- P list");
        assert_eq!(corrected("hutch run --json-input P", "lst", "list"), None, "they stand elsewhere");
    }

    #[test]
    fn the_home_is_named_however_it_was_named() {
        let mut call = line("hutch run P x");
        call.variable = HomeVariable::Text("it's".to_owned());
        assert_eq!(call.with_flag("--yes").unwrap(), r"HUTCH_HOME='it'\''s' hutch run --yes P x");
        assert_eq!(call.elsewhere(["list"]).unwrap(), r"HUTCH_HOME='it'\''s' hutch list");
        let named = call.clone().with_home(Some("h".to_owned()));
        assert_eq!(named.elsewhere(["list"]).unwrap(), "hutch --home h list");
        call.variable = HomeVariable::NotText;
        assert_eq!((call.with_flag("--yes"), call.elsewhere(["list"])), (None, None));
    }
}
