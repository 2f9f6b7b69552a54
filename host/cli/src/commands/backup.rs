//! `hutch backup` and `hutch restore`: the whole home as one file, and a home again of it.

use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{BackupAnswer, KeptInstance, RestoreAnswer};
use crate::feedback::issues::{self, Issues};
use crate::flags::global::Global;
use crate::machine::input;
use crate::machine::new_file::{NewFile, folder_of};
use crate::machine::surroundings;
use crate::package::trust;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, ValueHint};
use hutch::package::open_folder;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The file that backup wrote
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

/// What a home holds beside instances and packages, below it.
fn documents(home: &Path) -> Result<Vec<String>, Fault> {
    let issues = Issues::of(home).files()?.into_iter().map(|name| format!("{}/{name}", issues::FOLDER));
    Ok(trust::FILES.into_iter().map(str::to_owned).chain(issues).collect())
}

fn is_document(path: &str) -> bool {
    let issue = path.strip_prefix(issues::FOLDER).and_then(|rest| rest.strip_prefix('/'));
    trust::FILES.contains(&path) || issue.is_some_and(issues::is_file)
}

pub(crate) fn backup(global: &Global, own: &BackupArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (host, path) = (surroundings::host(global)?, &own.file);
    let (documents, folder) = (documents(host.home())?, folder_of(path));
    open_folder(folder).map_err(|error| Fault::file(folder, &error))?;
    let mut kept = None;
    let contents = host.back_up(&documents, surroundings::now(), folder, &mut |whole| {
        kept = Some(NewFile::of(whole, path).and_then(NewFile::keep));
    })?;
    let bytes = kept.transpose()?;
    if bytes.is_some() {
        output.done(Done::changed(None));
    }
    let result = BackupAnswer {
        path: path.clone(),
        bytes,
        instances: KeptInstance::all(&contents),
        versions: contents.versions,
    };
    output.answer("backup", result, human::fields)
}

pub(crate) fn restore(global: &Global, own: &RestoreArguments, output: &Output) -> Result<ExitCode, Fault> {
    let host = surroundings::host(global)?;
    let restored = host.restore(input::opened(&own.file)?, &is_document, surroundings::now())?;
    output.done(Done::changed(global.line.elsewhere(["instance", "list"])));
    restored.behind.iter().for_each(|reason| output.behind(Some(reason)));
    let result = RestoreAnswer {
        home: host.home().to_owned(),
        instances: KeptInstance::all(&restored.contents),
        versions: restored.contents.versions,
        as_told: restored.contents.instances.iter().map(|kept| kept.head.sequence).sum(),
        verify: global.line.elsewhere(["verify", "--all", "PACKAGE"]),
    };
    output.answer("restore", result, human::fields)
}
