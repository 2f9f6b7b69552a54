//! What a call has done that stays done even if its answer gets lost: so that nobody makes it again who was only not told.

use crate::line::call_line::CallLine;
use crate::refusal::repair;
use hutch::Answer;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use hutch_store::InstanceName;
use serde_json::json;

/// What is done.
#[derive(Debug)]
pub(crate) struct Done {
    /// Whether what the call did to anything that is kept stays.
    kept: bool,
    /// Whether that is any change.
    pub(crate) changed: bool,
    /// Where the ledger says it.
    entry: Option<Pin>,
    /// A command that shows it.
    look: Option<String>,
}

impl Done {
    /// Something was changed; `look` shows it.
    pub(crate) fn changed(look: Option<String>) -> Done {
        Done { kept: true, changed: true, entry: None, look }
    }

    /// The state of an instance was changed, as an entry of its ledger says.
    pub(crate) fn entry(entry: Pin, look: Option<String>) -> Done {
        Done { kept: true, changed: true, entry: Some(entry), look }
    }

    /// A guest ran.
    pub(crate) fn run(answer: &Answer, look: Option<String>) -> Done {
        let changed = answer.volumes.values().chain(answer.mounted.values()).any(|volume| !volume.changes.is_empty());
        Done { kept: answer.kept, changed: answer.kept && changed, entry: Some(answer.entry), look }
    }

    /// A report about an answer that nobody got.
    pub(crate) fn told(&self, report: ErrorReport) -> ErrorReport {
        let mut report = report.detail("kept", self.kept);
        if let Some(entry) = &self.entry {
            report = report.detail("entry", json!({"sequence": entry.sequence, "hash": entry.hash}));
        }
        if self.kept {
            let read = if self.look.is_some() { "; read what it did, as fixes says" } else { "" };
            report = report.suggest(format!("what the call did is kept: do not make it again{read}"));
            report.fixes.clear();
        }
        repair::fixed(report, self.look.clone(), "shows what the call did", "none")
    }
}

/// The line that shows an entry of the ledger.
pub(crate) fn show_entry(line: &CallLine, package: &str, instance: &InstanceName, entry: &Pin) -> Option<String> {
    let name = format!("@{}", entry.sequence);
    let instance = ["--instance", instance.as_str()].into_iter().filter(|_| instance.as_str() != "default");
    line.elsewhere(["ledger", "show"].into_iter().chain(instance).chain([package, &name]))
}
