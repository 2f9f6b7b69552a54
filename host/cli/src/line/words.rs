//! Which words of the command line are the host's. The package ends them: a flag that follows it is the guest's, even if the host
//! has one of the same name, or a guest's arguments could confirm what they ask for.

use clap::{Arg, Command};

/// Words in two parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// The program's name, its options, a command, its options, and the package if the command takes one.
    pub(crate) host: Vec<String>,
    /// What follows the package.
    pub(crate) guest: Vec<String>,
    /// How many of the host's words there are up to the command's last one: its options can stand there.
    pub(crate) named: usize,
}

impl Words {
    /// Splits words as `command`, built, would read them.
    pub(crate) fn split(words: Vec<String>, command: &Command) -> Words {
        let mut at = command;
        let mut named = words.len().min(1);
        let mut rest = words.iter().enumerate().skip(1);
        while let Some((place, word)) = rest.next() {
            if word == "--" {
                break;
            } else if word.starts_with('-') && word != "-" {
                if takes_value(at, word) {
                    rest.next();
                }
            } else if let Some(inner) = at.find_subcommand(word) {
                at = inner;
                named = place + 1;
            } else if at.get_positionals().any(Arg::is_trailing_var_arg_set) {
                let mut host = words;
                let guest = host.split_off(place + 1);
                return Words { host, guest, named };
            }
        }
        Words { host: words, guest: Vec::new(), named }
    }

    /// The command that words name: the first that is no option of `all`, unbuilt, and no value of one.
    pub(crate) fn command<'w>(words: &'w [String], all: &Command) -> Option<&'w str> {
        let mut rest = words.iter().skip(1);
        while let Some(word) = rest.next() {
            if word == "--" {
                return None;
            } else if !word.starts_with('-') || word == "-" {
                return Some(word);
            } else if takes_value(all, word) {
                rest.next();
            }
        }
        None
    }

    /// Whether one of the host's words is this.
    pub(crate) fn asks(&self, word: &str) -> bool {
        self.host.iter().any(|one| one == word)
    }

    /// All words, for a parser that may take nothing after the package for an option.
    pub(crate) fn parsed(&self) -> Vec<String> {
        let end = (!self.guest.is_empty()).then(|| "--".to_owned());
        self.host.iter().cloned().chain(end).chain(self.guest.iter().cloned()).collect()
    }
}

/// Whether a word is an option whose value is the next one.
pub(crate) fn takes_value(command: &Command, word: &str) -> bool {
    word.starts_with('-')
        && !word.contains('=')
        && option(command, word).is_some_and(|option| option.get_action().takes_values())
}

fn option<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.split('=').next().unwrap_or_default();
    let mut letters = name.trim_start_matches('-').chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    command.get_arguments().find(|argument| match name.strip_prefix("--") {
        Some(name) => argument.get_long() == Some(name),
        None => letter.is_some() && argument.get_short() == letter,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    #[test]
    fn the_command_is_the_first_word_that_is_no_option() {
        let all = crate::arguments::command_for(None).unwrap();
        for (line, expected) in [
            ("hutch run check", Some("run")),
            ("hutch --human --home run check", Some("check")),
            ("hutch --home=run -h --no-quiet check run", Some("check")),
            ("hutch --frobnicate run", Some("run")),
            ("hutch - run", Some("-")),
            ("hutch -- run", None),
            ("hutch --version", None),
            ("hutch --home", None),
            ("hutch", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(Words::command(&words, &all), expected, "{line}");
        }
    }

    #[test]
    fn the_package_ends_the_hosts_words() {
        let mut command = Arguments::command();
        command.build();
        // The part before the bar is the host's; the number is that of its words up to the command's name.
        for (named, line) in [
            (2, "hutch run todo | --yes remove td_0001"),
            (2, "hutch run todo | --help"),
            (2, "hutch run todo | -- --human"),
            (2, "hutch run --yes todo | --human --limit fuel=1"),
            (3, "hutch --human run --limit fuel=1 --limit=handles=2 todo | list run check"),
            (4, "hutch --home run run --instance check run | run"),
            (2, "hutch run -h todo | x"),
            (2, "hutch run - | -x"),
            (2, "hutch run -- todo --human x |"),
            (2, "hutch run --frobnicate todo | --yes"),
            (2, "hutch check todo --human |"),
            (3, "hutch issue list --status open |"),
            (1, "hutch --human |"),
            (1, "hutch frobnicate --yes |"),
            (1, "hutch |"),
        ] {
            let (host, guest) = line.split_once('|').unwrap();
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let expected = Words { host: words(host), guest: words(guest), named };
            let all = [words(host), words(guest)].concat();
            assert_eq!(Words::split(all, &command), expected, "{line}");
        }
    }
}
