//! The flaws, by the family of the rule that they break.

mod answers;
mod description;
mod failures;
mod feedback;
mod input;
mod safety;

use crate::notes::Reply;
use crate::scripted::Flaw;
use serde_json::Value;

/// All flaws.
pub(crate) fn all() -> impl Iterator<Item = Flaw> {
    let families = [answers::FLAWS, description::FLAWS, failures::FLAWS, feedback::FLAWS, input::FLAWS, safety::FLAWS];
    families.into_iter().flatten().copied()
}

/// Changes the document on standard output.
pub(crate) fn document(reply: &mut Reply, change: impl FnOnce(&mut Value)) {
    if let Ok(mut value) = serde_json::from_str(&reply.stdout) {
        change(&mut value);
        reply.stdout = format!("{value}\n");
    }
}

/// Changes the failure on standard error, if it has this code.
fn failure(reply: &mut Reply, code: &str, change: impl FnOnce(&mut Value)) {
    if let Ok(mut value) = serde_json::from_str::<Value>(&reply.stderr)
        && value["code"] == code
    {
        change(&mut value);
        reply.stderr = format!("{value}\n");
    }
}

/// The description of a command.
pub(crate) fn command<'h>(help: &'h mut Value, name: &str) -> &'h mut Value {
    let commands = help["commands"].as_array_mut().expect("there are commands");
    commands.iter_mut().find(|command| command["name"] == name).expect("the command is there")
}

/// The description of a command's parameter.
pub(crate) fn parameter<'h>(help: &'h mut Value, name: &str, parameter: &str) -> &'h mut Value {
    let parameters = command(help, name)["parameters"].as_array_mut().expect("there are parameters");
    parameters.iter_mut().find(|it| it["name"] == parameter).expect("the parameter is there")
}

/// Gives a code another exit status, in the list of codes and in the examples.
fn restate(help: &mut Value, code: &str, status: u8) {
    let mut before = Value::Null;
    for error in help["errors"].as_array_mut().into_iter().flatten().filter(|error| error["code"] == code) {
        before = error["exit_status"].take();
        error["exit_status"] = status.into();
    }
    for command in help["commands"].as_array_mut().into_iter().flatten() {
        for example in command["examples"].as_array_mut().into_iter().flatten() {
            if example["exit_status"] == before {
                example["exit_status"] = status.into();
            }
        }
    }
}

/// Takes words out of the arguments.
fn without(args: &mut Vec<String>, word: &str) {
    args.retain(|arg| arg != word);
}

/// Takes a removed key out of an object.
pub(crate) fn drop_key(value: &mut Value, key: &str) {
    value.as_object_mut().map(|fields| fields.remove(key));
}
