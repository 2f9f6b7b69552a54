//! Arguments that must be refused for what they hold: credentials, sensitive paths, shell syntax, ways out, control characters.
//! And the two modes that take care of such content: `--sanitize` and `--redact`.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::{Command, Parameter};
use crate::draw::Draws;
use crate::target::{Contract, Options, Stdin, TargetError};
use hutch_model::redact::Cleaning;

/// The beginnings of credentials.
const SECRETS: [&str; 9] = ["sk-", "pk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "eyJ"];
/// How many characters follow, so that it looks like one.
const SECRET_REST: usize = 36;
/// The beginning of an access key, and how many capitals and digits follow.
const ACCESS_KEY: (&str, usize) = ("AKIA", 16);
/// Reverses the direction of what follows: hidden in every terminal and page.
pub(crate) const HIDDEN: char = '\u{202e}';
/// What stands beside personal data, so that the answers which show it are known even without it.
pub(crate) const BESIDE: &str = "probe-of-redaction";

/// Personal data that nobody has.
pub(crate) fn personal(draws: Draws) -> String {
    format!("{}.{}@example.com", draws.word("first name"), draws.word("last name"))
}

impl Prober<'_> {
    /// Every guardrail, for every text that a command takes.
    pub(super) fn guards(&mut self) -> Result<(), TargetError> {
        let mut first = true;
        for (at, command, parts) in self.reached() {
            let options = Options { confirmed: true, ..self.ready(at)? };
            let own = |parameter: &&Parameter| parameter.is_text() && !self.facts().forwarded.contains(&parameter.name);
            let mut parameters: Vec<Parameter> = command.parameters.iter().filter(own).cloned().collect();
            if first && command.is_reading() {
                parameters.extend(self.description.parameters.iter().filter(|parameter| parameter.is_text()).cloned());
                first = false;
            }
            for (nth, parameter) in parameters.iter().enumerate() {
                // A call of a process takes a thousand times as long.
                let everything = nth == 0 || self.facts().component;
                self.guard((at, &command), &parts, parameter, everything, &options)?;
            }
        }
        self.sanitized()
    }

    /// One parameter. It is tried with `everything`, or with one of each kind, which is drawn.
    fn guard(
        &mut self,
        (at, command): (usize, &Command),
        parts: &Parts,
        parameter: &Parameter,
        everything: bool,
        options: &Options,
    ) -> Result<(), TargetError> {
        let draws = self.facts().draws;
        let of_secret = |start: &&str| match *start {
            start if start == ACCESS_KEY.0 => format!("{start}{}", draws.credential(start, ACCESS_KEY.1, true)),
            start => format!("{start}{}", draws.credential(start, SECRET_REST, false)),
        };
        let (a, b) = (self.word("begins"), self.word("ends"));
        let mut tries = vec![
            (Purpose::Secret, SECRETS.iter().map(of_secret).collect()),
            (Purpose::ControlCharacter, vec![format!("{a}\u{7}{b}"), format!("{a}\u{1b}[31m{b}")]),
        ];
        // Prose is no path and no command.
        if !parameter.is_prose() {
            let reads_keys = self.facts().key_files.contains(&parameter.name);
            let mut paths = vec![format!("{a}/.env"), format!("{a}/id_rsa")];
            if !reads_keys {
                paths.extend([format!("{b}.key"), format!("{a}/{b}.pem")]);
            }
            // With and without spaces, and beside a letter that is no ASCII.
            let joined = [(";", ""), ("|", ""), ("&&", "é")].map(|(sign, letter)| {
                let [before, after] = match draws.below(sign, 4) {
                    0 => ["", ""],
                    1 => ["", " "],
                    2 => [" ", ""],
                    _ => [" ", " "],
                };
                format!("{a}{letter}{before}{sign}{after}{b}")
            });
            let shell = joined.into_iter().chain([format!("$({a})"), format!("`{a}`")]).collect();
            tries.push((Purpose::SensitivePath, paths));
            tries.push((Purpose::ShellSyntax, shell));
            if !self.facts().own_paths.contains(&parameter.name) {
                tries.push((Purpose::Traversal, vec![format!("../../{a}"), format!("{a}/../../{b}")]));
            }
        }
        for (purpose, values) in tries {
            let place = format!("{purpose:?} for {} of {}", parameter.name, command.name());
            let drawn = draws.below(&place, values.len() as u64);
            let tried = values.iter().enumerate().filter(|(nth, _)| everything || *nth as u64 == drawn);
            for (_, value) in tried {
                let args = self.confirmed(command, &parts.replaced(parameter, value));
                self.call(purpose, Some(at), &parameter.name, args, options)?;
            }
        }
        Ok(())
    }

    /// Hidden characters in prose, with `--sanitize`: the program's own, else that of the host before it.
    fn sanitized(&mut self) -> Result<(), TargetError> {
        for (at, command, parts) in self.reached() {
            let text = command.parameters.iter().find(|parameter| parameter.free_text);
            let text = text.or_else(|| command.parameters.iter().find(|parameter| parameter.is_text()));
            let Some(text) = text else { continue };
            let options = Options { confirmed: true, ..self.ready(at)? };
            let hidden = format!("{}{HIDDEN}{}", self.word("begins"), self.word("ends"));
            let parts = parts.replaced(text, &hidden);
            if self.description.parameter(&command, "sanitize").is_some() {
                let args = self.confirmed(&command, &parts.with("sanitize", None));
                self.call(Purpose::Sanitized, Some(at), &text.name.clone(), args, &options)?;
            } else if self.facts().contract == Contract::Application {
                let cleaning = Cleaning { hidden: true, personal: false };
                let args = self.confirmed(&command, &parts);
                let options = Options { cleaning, ..options };
                self.call(Purpose::HostSanitized, Some(at), &text.name.clone(), args, &options)?;
            }
        }
        Ok(())
    }

    /// Personal data that is kept, then shown plainly and with `--redact`: the program's own, else that of the host before it. It comes in
    /// by a text, and to an application also by a file.
    pub(super) fn redacted(&mut self) -> Result<(), TargetError> {
        let hosted = self.facts().contract == Contract::Application;
        let offers = |prober: &Self, command: &Command| prober.description.parameter(command, "redact").is_some();
        let reads: Vec<_> = self
            .reached()
            .into_iter()
            .filter(|(_, command, _)| command.is_reading() && (hosted || offers(self, command)))
            .collect();
        if reads.is_empty() || !self.facts().may_change {
            return Ok(());
        }
        let writes = self.reached().into_iter().filter_map(|(at, command, parts)| {
            let text = command.parameters.iter().find(|parameter| parameter.free_text)?.clone();
            (!command.is_reading() && !command.is_destructive()).then_some((at, command, parts, text))
        });
        const WRITERS_MAX: usize = 8;
        for (at, command, parts, text) in writes.take(WRITERS_MAX).collect::<Vec<_>>() {
            let args = self.confirmed(&command, &parts.replaced(&text, &self.personal_text()));
            // Not counted with what fills the state: of a program with many commands, none of these would be made.
            self.make(at, vec![args])?;
        }
        if hosted {
            self.personal_files()?;
        }
        for (at, command, parts) in reads {
            self.shown(at, &command, &parts, &Options::default())?;
            if let Some(parts) = from_standard_input(&command, &parts).filter(|_| hosted) {
                self.shown(at, &command, &parts, &self.personal_input())?;
            }
        }
        Ok(())
    }

    /// A file with personal data in it, kept by every command that takes one.
    fn personal_files(&mut self) -> Result<(), TargetError> {
        for (at, command, parts) in self.reached() {
            let parts = from_standard_input(&command, &parts).filter(|_| !command.is_reading());
            if let Some(parts) = parts {
                let options = Options { keep: true, confirmed: true, ..self.personal_input() };
                self.call(Purpose::Seed, Some(at), "", self.confirmed(&command, &parts), &options)?;
            }
        }
        Ok(())
    }

    fn personal_text(&self) -> String {
        format!("{BESIDE} {}", personal(self.facts().draws))
    }

    /// A document that is JSON, CSV and prose: what reads any file of people's reads it.
    fn personal_input(&self) -> Options {
        let document = format!("\"{}\"\n", self.personal_text());
        Options { stdin: Stdin::Bytes(document.into_bytes()), ..Options::default() }
    }

    /// The answer plainly, and without personal data.
    fn shown(&mut self, at: usize, command: &Command, parts: &Parts, options: &Options) -> Result<(), TargetError> {
        self.call(Purpose::Personal, Some(at), "", parts.args(), options)?;
        if self.description.parameter(command, "redact").is_some() {
            self.call(Purpose::Redacted, Some(at), "", parts.with("redact", None).args(), options)?;
        } else {
            let options = Options { cleaning: Cleaning { hidden: false, personal: true }, ..options.clone() };
            self.call(Purpose::HostRedacted, Some(at), "", parts.args(), &options)?;
        }
        Ok(())
    }
}

/// The call with standard input in the place of its file, as far as it takes one.
fn from_standard_input(command: &Command, parts: &Parts) -> Option<Parts> {
    let file =
        command.parameters.iter().find(|parameter| matches!(parameter.kind.as_deref(), Some("path" | "file")))?;
    Some(parts.replaced(file, "-"))
}
