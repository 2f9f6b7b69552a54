//! A call at times, as the lines that cron reads and the units that systemd reads. Each quotes in its own way, and what one of them
//! would read otherwise than it is meant is refused.

use super::Times;
use crate::terminal::neutral;

/// The longest command that every cron keeps whole: the oldest that is in use cuts at 1000 bytes.
pub const CRON_COMMAND_BYTES_MAX: usize = 998;

/// A call that others are to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheduled<'a> {
    /// What the files are called by and describe, as `hutch-todo-due`: letters, digits, `-` and `_`.
    pub name: &'a str,
    /// When.
    pub times: &'a Times,
    /// Variables that the call is made with.
    pub environment: Vec<(&'a str, &'a str)>,
    /// The program's absolute path, and its arguments.
    pub words: Vec<&'a str>,
}

/// Lines of a crontab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cron {
    /// The variable that sets the zone, and the call.
    pub text: String,
}

/// Units of systemd.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Systemd {
    /// The content of the file `NAME.service`.
    pub service: String,
    /// The content of the file `NAME.timer`.
    pub timer: String,
}

/// A word can't be written so that all of its readers read it alike.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} can't be written for {1}: {2}")]
pub struct NotExported(String, &'static str, &'static str);

impl Scheduled<'_> {
    /// As cron reads it: the command is a shell's, `%` would end it, and there is one line for each call.
    ///
    /// # Errors
    /// A word holds what crons read differently, or they are too long.
    pub fn cron(&self) -> Result<Cron, NotExported> {
        let quoted = |text: &str| -> Result<String, NotExported> {
            let text = checked(text, "cron")?;
            if text.contains('\\') {
                return Err(NotExported(text.to_owned(), "cron", "crons differ about backslashes"));
            }
            Ok(quote(text).replace('%', "\\%"))
        };
        let assigned = self.environment.iter().map(|(name, value)| Ok(format!("{name}={}", quoted(value)?)));
        let words = self.words.iter().map(|word| quoted(word));
        let command = assigned.chain(words).collect::<Result<Vec<_>, _>>()?.join(" ");
        if command.len() > CRON_COMMAND_BYTES_MAX {
            return Err(NotExported(self.name.to_owned(), "cron", "the command is longer than some crons read"));
        }
        Ok(Cron { text: format!("CRON_TZ=UTC\n{} {command}\n", self.times) })
    }

    /// As systemd reads it: words in double quotes, `%` begins a specifier and `$` a variable.
    ///
    /// # Errors
    /// A word holds what ends a line, or the program's path what systemd reads as something else.
    pub fn systemd(&self) -> Result<Systemd, NotExported> {
        let quoted = |text: &str| checked(text, "systemd").map(|text| quote_for_unit(text).replace('%', "%%"));
        let mut service = format!("[Unit]\nDescription={}\n\n[Service]\nType=oneshot\n", self.name);
        for (name, value) in &self.environment {
            service.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"))?));
        }
        let program = self.words.first().copied().unwrap_or_default();
        if !program.starts_with('/') || program.contains('$') {
            return Err(NotExported(program.to_owned(), "systemd", "a program is an absolute path without $"));
        }
        // Variables are put in in arguments alone, and not in the environment's lines.
        let words = self.words.iter().map(|word| Ok(quoted(word)?.replace('$', "$$")));
        let words = words.collect::<Result<Vec<_>, NotExported>>()?.join(" ");
        service.push_str(&format!("ExecStart={words}\n"));
        let when: String = self.times.on_calendar().iter().map(|when| format!("OnCalendar={when}\n")).collect();
        let timer = format!(
            "[Unit]\nDescription={}\n\n[Timer]\n{when}Persistent=true\n\n[Install]\nWantedBy=timers.target\n",
            self.name
        );
        Ok(Systemd { service, timer })
    }
}

/// A text that is one line and looks like what it is.
fn checked<'t>(text: &'t str, reader: &'static str) -> Result<&'t str, NotExported> {
    let one_line = !text.contains(['\n', '\t', '\u{2028}', '\u{2029}']) && neutral(text) == text;
    match one_line {
        true => Ok(text),
        false => Err(NotExported(text.to_owned(), reader, "it holds more than one line of plain text")),
    }
}

/// A word as a POSIX shell reads it, in quotes unless nothing in it could mean anything.
fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A word as systemd reads it (systemd.syntax(7), "Quoting").
fn quote_for_unit(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled<'a>(times: &'a Times, environment: &[(&'a str, &'a str)], words: &[&'a str]) -> Scheduled<'a> {
        Scheduled { name: "hutch-todo-due", times, environment: environment.to_vec(), words: words.to_vec() }
    }

    #[test]
    fn a_line_of_cron_is_one_command_of_a_shell() {
        let times = "0 9 * * mon-fri".parse().unwrap();
        let words = ["/opt/my hutch", "run", "installed:todo", "add", "50% it's $(x) \"y\"; z", ""];
        let Cron { text } = scheduled(&times, &[("HUTCH_HOME", "/h o")], &words).cron().unwrap();
        let command = r#"HUTCH_HOME='/h o' '/opt/my hutch' run installed:todo add '50\% it'\''s $(x) "y"; z' ''"#;
        assert_eq!(text, format!("CRON_TZ=UTC\n0 9 * * 1-5 {command}\n"));
    }

    #[test]
    fn units_of_systemd_name_every_word_as_it_is() {
        let times = "30 6 1 * sun".parse().unwrap();
        let words = ["/opt/my hutch", "run", "/p", "add", r#"50% of "$HOME" \n it's"#, ";", ""];
        let Systemd { service, timer } = scheduled(&times, &[("HUTCH_HOME", "/h%$")], &words).systemd().unwrap();
        assert_eq!(
            service,
            "[Unit]\nDescription=hutch-todo-due\n\n[Service]\nType=oneshot\nEnvironment=\"HUTCH_HOME=/h%%$\"\n\
             ExecStart=\"/opt/my hutch\" run /p add \"50%% of \\\"$$HOME\\\" \\\\n it's\" \";\" \"\"\n"
        );
        assert_eq!(
            timer,
            "[Unit]\nDescription=hutch-todo-due\n\n[Timer]\nOnCalendar=Sun *-*-* 06:30:00 UTC\n\
             OnCalendar=*-*-01 06:30:00 UTC\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
        );
    }

    #[test]
    fn what_would_be_read_otherwise_is_refused() {
        let times = "0 9 * * *".parse().unwrap();
        for word in ["a\nb", "a\r", "\u{1b}[2J", "\u{202e}x", "a\tb", "a\u{2028}b"] {
            let call = scheduled(&times, &[], &["/h", word]);
            assert!(call.cron().is_err() && call.systemd().is_err(), "{word:?}");
            let call = scheduled(&times, &[("HUTCH_HOME", word)], &["/h"]);
            assert!(call.cron().is_err() && call.systemd().is_err(), "{word:?}");
        }
        assert!(scheduled(&times, &[], &["/h", r"a\b"]).cron().is_err());
        assert!(scheduled(&times, &[], &["/h$x"]).systemd().is_err());
        assert!(scheduled(&times, &[], &["h"]).systemd().is_err());
        let long = "x".repeat(CRON_COMMAND_BYTES_MAX);
        assert!(scheduled(&times, &[], &["/h", &long]).cron().is_err());
        assert!(scheduled(&times, &[], &["/h", &long]).systemd().is_ok());
        assert!(scheduled(&times, &[], &["/h", &long[3..]]).cron().is_ok());
    }
}
