//! `hutch init`: a new package from a template: `NAME/package` is what runs, `NAME/guest` the source that its component is built from.

use super::templates::{self, Language};
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::InitAnswer;
use crate::flags::global::Global;
use crate::line::quote;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::Args;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The package's slug: lower-case words joined by -
    #[arg(value_name = "NAME")]
    name: String,
    /// The folder to make NAME in
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// What the component is written in; rust comes with one that is built
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t = Language::Rust)]
    lang: Language,
}

#[expect(clippy::disallowed_methods, reason = "the caller named the path; nothing that is there is overwritten")]
pub(crate) fn init(global: &Global, own: &InitArguments, output: &Output) -> Result<ExitCode, Fault> {
    let slug = Slug::parse(&own.name).map_err(|error| {
        let report = ErrorReport::new(ErrorCode::Usage, format!("NAME: {error}"));
        Fault::from(match Slug::derived(&own.name) {
            Some(near) => repair::fixed(
                report.suggest(format!("did you mean {near}?")),
                global.line.replacing(&own.name, &[near.as_str()]),
                "makes it under that name",
                "low",
            ),
            None => report,
        })
    })?;
    let folder = own.folder.join(slug.as_str());
    if folder.symlink_metadata().is_ok() {
        return Err(Fault::new(ErrorCode::AlreadyExists, format!("{} is there already", folder.display())));
    }
    let parent = hutch::package::open_folder(&own.folder).map_err(|error| Fault::file(&own.folder, &error))?;
    if !global.dry_run {
        write(&parent, &own.folder, &slug, own.lang)?;
    }
    let package = folder.join("package").display().to_string();
    let guest = folder.join("guest").display().to_string();
    // In a shell of their own: what comes next is relative to where the caller is.
    let build = own.lang.build().map(|lines| format!("({} && {})", quote::line(["cd", &guest]), lines.join(" && ")));
    let after = [quote::line(["hutch", "check", &package]), quote::line(["hutch", "run", &package, "add", "Buy milk"])];
    output.done(Done::changed(global.line.elsewhere(["check", &package])));
    let result = InitAnswer {
        slug: slug.to_string(),
        package,
        guest,
        lang: own.lang.name(),
        files: own.lang.files().map(|(path, _)| format!("{slug}/{path}")).collect(),
        next: build.into_iter().chain(after).collect(),
        dry_run: global.dry_run,
    };
    let told = human::sentence(&[
        "{dry_run?would make|made} {package}, a package in {lang}, whose sources are in {guest}",
        "\nnext: {next}",
    ]);
    output.answer("init", result, told)
}

fn write(parent_dir: &cap_std::fs::Dir, parent: &Path, slug: &Slug, lang: Language) -> Result<(), Fault> {
    let failed = |error| Fault::file(&parent.join(slug.as_str()), &error);
    // The name itself is made exclusively: of two callers one is told that it is there.
    parent_dir.create_dir(slug.as_str()).map_err(failed)?;
    let dir = parent_dir.open_dir(slug.as_str()).map_err(failed)?;
    // Also where the component is still to be built.
    dir.create_dir_all("package/app").map_err(failed)?;
    for (path, content) in lang.files() {
        if let Some((folder, _)) = path.rsplit_once('/') {
            dir.create_dir_all(folder).map_err(failed)?;
        }
        dir.write(path, templates::named(content, slug)).map_err(failed)?;
    }
    Ok(())
}
