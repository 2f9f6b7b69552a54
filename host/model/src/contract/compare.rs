//! Where two descriptions of the same commands disagree: a file and a component, or a file and the manifest.

use super::{CONTRACT_FILE, Command, Contract, ContractFile};
use crate::diagnostic::{Code, Diagnostic, Position, Problems, shown, sort};
use crate::fields::NAMES_MAX;
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::names::CommandPath;
use serde_json::Value;

impl ContractFile {
    /// What the component says otherwise than the file, at the file's places. Names are not compared: the file's is the slug of the
    /// package, which may hold a program that was built under another.
    pub fn differences(&self, component: &Contract) -> Vec<Diagnostic> {
        let mut problems = Problems::new(&self.file);
        let mut differences = Vec::new();
        let component = Contract { name: self.contract.name.clone(), ..component.clone() };
        compare(&self.contract.to_document(), &component.to_document(), &mut String::new(), &mut differences);
        for difference in differences {
            let at = self.fields.position(&difference.pointer);
            problems.report(Code::ContractDiffers, at, format!("{}: {}", difference.pointer, difference.message));
        }
        problems.into_sorted()
    }

    /// How the lists of a manifest are written that say the same of commands; `None` for more of them than a manifest can list.
    pub fn manifest_lists(&self) -> Option<String> {
        let commands = &self.contract.commands;
        let names = |wanted: fn(&&Command) -> bool| {
            Value::from(commands.iter().filter(wanted).map(|command| command.name.as_str()).collect::<Vec<_>>())
        };
        let confirmed = match names(|command| command.confirmation_required) {
            Value::Array(none) if none.is_empty() => String::new(),
            confirmed => format!(" and confirmationRequired: {confirmed}"),
        };
        (commands.len() <= NAMES_MAX).then(|| format!("write commands: {}{confirmed}", names(|_| true)))
    }

    /// What the manifest says otherwise than the file, at the place of the one that says more.
    pub fn disagreements(&self, manifest: &Manifest) -> Vec<Diagnostic> {
        let mut here = Problems::new(&self.file);
        let mut there = Problems::new(MANIFEST_FILE);
        let contract = &self.contract;
        if contract.name != manifest.slug().as_str() {
            let message = format!(
                "name {} is not the slug {} of {MANIFEST_FILE}",
                shown(&contract.name),
                shown(manifest.slug().as_str())
            );
            here.report(Code::ContractManifest, self.position("/name"), message);
        }
        if contract.version != manifest.version().to_string() {
            let message = format!(
                "version {} is not the version {} of {MANIFEST_FILE}",
                shown(&contract.version),
                manifest.version()
            );
            here.report(Code::ContractManifest, self.position("/version"), message);
        }
        // Once, however much of the lists is wrong.
        let mut lists = self.manifest_lists();
        let mut report = |problems: &mut Problems, at: Position, message: String| match lists.take() {
            Some(lists) => problems.report_with(Code::ContractManifest, at, message, lists),
            None => problems.report(Code::ContractManifest, at, message),
        };
        let listed = |paths: &[CommandPath], name: &str| paths.iter().any(|path| path.as_str() == name);
        for (at, command) in contract.commands.iter().enumerate() {
            let name = shown(&command.name);
            if !listed(manifest.commands(), &command.name) {
                let message = format!("{name} is not among the commands of {MANIFEST_FILE}");
                report(&mut here, self.position(&format!("/commands/{at}/name")), message);
            } else if command.confirmation_required && !listed(manifest.confirmation_required(), &command.name) {
                let message = format!("{name} needs a confirmation here and none in {MANIFEST_FILE}");
                report(&mut here, self.position(&format!("/commands/{at}/confirmationRequired")), message);
            }
        }
        for (at, path) in manifest.commands().iter().enumerate() {
            if contract.command(path.as_str()).is_none() {
                let message = format!("{} is not among the commands of {CONTRACT_FILE}", shown(path.as_str()));
                report(&mut there, manifest.position(&format!("/commands/{at}")), message);
            }
        }
        for (at, path) in manifest.confirmation_required().iter().enumerate() {
            if contract.command(path.as_str()).is_some_and(|command| !command.confirmation_required) {
                let message = format!("{} needs a confirmation here and none in {CONTRACT_FILE}", shown(path.as_str()));
                report(&mut there, manifest.position(&format!("/confirmationRequired/{at}")), message);
            }
        }
        let mut found = here.into_sorted();
        found.extend(there.into_sorted());
        sort(&mut found);
        found
    }
}

struct Difference {
    pointer: String,
    message: String,
}

/// Walks two JSON values side by side. Both have the form of a contract, so that only lists and an output schema can differ
/// in shape.
fn compare(file: &Value, component: &Value, pointer: &mut String, differences: &mut Vec<Difference>) {
    let mut within = |part: &str, file: &Value, component: &Value| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&part.replace('~', "~0").replace('/', "~1"));
        compare(file, component, pointer, differences);
        pointer.truncate(length);
    };
    match (file, component) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() && a.keys().all(|key| b.contains_key(key)) => {
            for (key, a) in a {
                within(key, a, b.get(key).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                within(&at.to_string(), a, b);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let message = format!("the file says {}, the component {}", brief(a), brief(b));
            differences.push(Difference { pointer: pointer.clone(), message });
        }
    }
}

/// A value as a message shows it; of a list, what its items are called.
fn brief(value: &Value) -> String {
    let names: Option<Vec<&str>> = match value {
        Value::Array(items) => {
            items.iter().map(|item| item.get("name").or_else(|| item.get("code")).unwrap_or(item).as_str()).collect()
        }
        _ => None,
    };
    match (names, value) {
        (Some(names), _) => shown(&format!("[{}]", names.join(", "))),
        (None, Value::String(text)) => shown(text),
        (None, other) => shown(&other.to_string()).trim_matches('"').to_owned(),
    }
}
