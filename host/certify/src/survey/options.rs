//! Valid calls with what a command does not need: its options with values that are known or can be guessed, every choice and every switch,
//! as many as go together in one call. What is accepted is judged as a valid call is, and what is refused as any failure.

use super::Purpose;
use super::modes::MODES;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::{Command, Parameter};
use crate::read;
use crate::target::{Observation, Options, TargetError};
use hutch_model::error_code::ErrorCode;
use serde_json::Value;

/// How many values of one parameter are tried.
const VALUES: usize = 8;
/// How many calls of one command are kept later, to see what becomes of what is there.
const KEPT: usize = 4;
/// What asks for an answer in another form, of which no rule says what it holds.
const FORMS: [&str; 11] =
    ["format", "output-format", "raw", "plain", "pretty", "csv", "tsv", "yaml", "xml", "markdown", "html"];

/// A parameter and its value; a switch has none.
type Given<'p> = (&'p Parameter, Option<&'p str>);

impl Prober<'_> {
    /// Every option of every command that was reached. Each is given alone only where it can't be together with others.
    pub(super) fn options(&mut self) -> Result<(), TargetError> {
        for (at, command, parts) in self.reached() {
            let options = Options { confirmed: true, ..self.ready(at)? };
            let free: Vec<(&Parameter, Vec<Option<String>>)> = command
                .parameters
                .iter()
                .filter(|parameter| self.is_free(parameter, &parts))
                .map(|parameter| (parameter, self.values_of(&command, parameter)))
                .collect();
            for nth in 0..VALUES {
                let given = free.iter().filter_map(|(parameter, values)| {
                    let value = values.get(nth)?;
                    Some((*parameter, value.as_deref()))
                });
                let (mut alone, together): (Vec<Given<'_>>, Vec<Given<'_>>) = given.partition(is_form);
                if together.len() > 1 {
                    let seen = self.option(at, &command, &parts, &together, &options)?;
                    // What does not end is not tried again in other words.
                    if seen.timed_out {
                        break;
                    }
                    if !is_accepted(&seen) {
                        alone.extend(together);
                    }
                } else {
                    alone.extend(together);
                }
                for one in alone {
                    self.option(at, &command, &parts, &[one], &options)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a parameter need not be given, is not given, and changes more than how the program answers.
    fn is_free(&self, parameter: &Parameter, parts: &Parts) -> bool {
        let name = parameter.name.as_str();
        let is_mode = MODES.contains(&name) || name == "fields" || name.starts_with("no-");
        let is_given = parameter.position.is_some_and(|position| (position as usize) < parts.bare.len());
        !parameter.required && !is_mode && !is_given && !self.facts().forwarded.contains(&parameter.name)
    }

    /// The value that an example gives it, a guess, and the ends of its range.
    fn values_of(&self, command: &Command, parameter: &Parameter) -> Vec<Option<String>> {
        if parameter.is_switch() {
            return vec![None];
        }
        if !parameter.choices.is_empty() {
            let choices = parameter.choices.iter().filter(|choice| !MODES.contains(&choice.as_str()));
            return choices.cloned().map(Some).collect();
        }
        let good = command.examples.iter().filter(|example| example.succeeds());
        let mut examples = good.filter_map(|example| Parts::of_example(&self.description, command, &example.args));
        let in_example = examples.find_map(|parts| {
            let mut flags = parts.flags.into_iter();
            flags.find(|(name, _)| *name == parameter.name)?.1
        });
        let end = |key: &str| {
            let constraints = parameter.json.get("constraints").unwrap_or(&parameter.json);
            match constraints.get(key)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            }
        };
        let guess = self.values.of(parameter, 0);
        let mut values: Vec<Option<String>> = Vec::new();
        for value in [in_example, Some(guess), end("minimum"), end("maximum")] {
            if value.is_some() && !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    fn option(
        &mut self,
        at: usize,
        command: &Command,
        parts: &Parts,
        given: &[Given<'_>],
        options: &Options,
    ) -> Result<Observation, TargetError> {
        let with = given.iter().fold(parts.clone(), |parts, (parameter, value)| match value {
            Some(value) => parts.replaced(parameter, value),
            None => parts.without(&parameter.name).with(&parameter.name, None),
        });
        let args = self.confirmed(command, &with);
        let Some(seen) = self.make_one(Purpose::Valid, &args, options)? else { return Ok(Observation::default()) };
        let is_valid = is_accepted(&seen) && !given.iter().any(is_form);
        let kept = self.with_options.iter().filter(|(of, _)| *of == at).count();
        if is_valid && kept < KEPT && seen.unchanged() != Some(true) {
            self.with_options.push((at, with));
        }
        let purpose = if is_valid { Purpose::Valid } else { Purpose::Attempt };
        let about: Vec<String> = given.iter().map(|(parameter, _)| format!("--{}", parameter.name)).collect();
        self.write_down(purpose, Some(at), &about.join(" "), args, seen.clone());
        Ok(seen)
    }
}

fn is_form((parameter, _): &Given<'_>) -> bool {
    FORMS.contains(&parameter.name.as_str())
}

/// Whether a call was not refused: it ended well, says so, or gave an answer that its host finds to be another one than declared.
fn is_accepted(seen: &Observation) -> bool {
    let is_broken = || {
        let code = read::told(seen).and_then(|told| told.code);
        code.as_deref() == Some(ErrorCode::ContractViolation.text())
    };
    !seen.timed_out && (seen.status == Some(0) || read::claims_success(seen) || is_broken())
}
