//! Arguments that must be refused for what they hold: credentials, sensitive paths, shell syntax, ways out, control characters.
//! And the two modes that take care of such content: `--sanitize` and `--redact`.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::{Command, Parameter};
use crate::target::{Contract, Options, Stdin, TargetError};
use hutch_model::redact::Cleaning;

/// The beginnings of credentials.
const SECRETS: [&str; 9] = ["sk-", "pk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "eyJ"];
/// What follows, so that it looks like one.
const SECRET_REST: &str = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
/// What follows an access key's beginning: capitals and digits.
const ACCESS_KEY_REST: &str = "IOSFODNN7EXAMPLE";
const SENSITIVE_PATHS: [&str; 4] = [".env", "server.key", "certs/server.pem", "id_rsa"];
const SHELL_SYNTAX: [&str; 5] = ["probe; id", "probe | id", "probe && id", "$(id)", "`id`"];
const TRAVERSALS: [&str; 2] = ["../../etc/passwd", "probe/../../secret"];
const CONTROL_CHARACTERS: [&str; 2] = ["pro\u{7}be", "pro\u{1b}[31mbe"];
/// Reverses the direction of what follows: hidden in every terminal and page.
pub(crate) const HIDDEN: &str = "pro\u{202e}be";
/// Personal data that nobody has.
pub(crate) const PERSONAL: &str = "ada.probe@example.com";
/// What stands beside it, so that the answers which show it are known even without it.
pub(crate) const BESIDE: &str = "probe-of-redaction";

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
                self.guard((at, &command), &parts, parameter, nth == 0, &options)?;
            }
        }
        self.sanitized()
    }

    /// The first parameter of a command is tried with everything, the others with one of each kind.
    fn guard(
        &mut self,
        (at, command): (usize, &Command),
        parts: &Parts,
        parameter: &Parameter,
        everything: bool,
        options: &Options,
    ) -> Result<(), TargetError> {
        let of_secret = |start: &&str| match *start {
            "AKIA" => format!("{start}{ACCESS_KEY_REST}"),
            _ => format!("{start}{SECRET_REST}"),
        };
        let of = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        let mut tries = vec![
            (Purpose::Secret, SECRETS.iter().map(of_secret).collect()),
            (Purpose::ControlCharacter, of(&CONTROL_CHARACTERS)),
        ];
        // Prose is no path and no command.
        if !parameter.free_text {
            let is_key = |path: &&str| path.ends_with(".key") || path.ends_with(".pem");
            let reads_keys = self.facts().key_files.contains(&parameter.name);
            let paths: Vec<&str> = SENSITIVE_PATHS.into_iter().filter(|path| !(reads_keys && is_key(path))).collect();
            tries.push((Purpose::SensitivePath, of(&paths)));
            tries.push((Purpose::ShellSyntax, of(&SHELL_SYNTAX)));
            if !self.facts().own_paths.contains(&parameter.name) {
                tries.push((Purpose::Traversal, of(&TRAVERSALS)));
            }
        }
        for (purpose, values) in tries {
            let count = if everything { values.len() } else { 1 };
            for value in values.iter().take(count) {
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
            let parts = parts.replaced(text, HIDDEN);
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
            let args = self.confirmed(&command, &parts.replaced(&text, &format!("{BESIDE} {PERSONAL}")));
            // Not counted with what fills the state: of a program with many commands, none of these would be made.
            self.make(at, vec![args])?;
        }
        if hosted {
            self.personal_files()?;
        }
        for (at, command, parts) in reads {
            self.shown(at, &command, &parts, &Options::default())?;
            if let Some(parts) = from_standard_input(&command, &parts).filter(|_| hosted) {
                self.shown(at, &command, &parts, &personal_input())?;
            }
        }
        Ok(())
    }

    /// A file with personal data in it, kept by every command that takes one.
    fn personal_files(&mut self) -> Result<(), TargetError> {
        for (at, command, parts) in self.reached() {
            let parts = from_standard_input(&command, &parts).filter(|_| !command.is_reading());
            if let Some(parts) = parts {
                let options = Options { keep: true, confirmed: true, ..personal_input() };
                self.call(Purpose::Seed, Some(at), "", self.confirmed(&command, &parts), &options)?;
            }
        }
        Ok(())
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

/// A document that is JSON, CSV and prose: what reads any file of people's reads it.
fn personal_input() -> Options {
    Options { stdin: Stdin::Bytes(format!("\"{BESIDE} {PERSONAL}\"\n").into_bytes()), ..Options::default() }
}

/// The call with standard input in the place of its file, as far as it takes one.
fn from_standard_input(command: &Command, parts: &Parts) -> Option<Parts> {
    let file =
        command.parameters.iter().find(|parameter| matches!(parameter.kind.as_deref(), Some("path" | "file")))?;
    Some(parts.replaced(file, "-"))
}
