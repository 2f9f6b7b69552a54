//! `hutch show`: a package activated: the text of its `APP.md`, and skills that are asked for (the second tier of disclosure).

use crate::answer::output::Output;
use crate::answers::{ShowAnswer, SkillAnswer};
use crate::flags::global::Global;
use crate::package::network::{self, NetworkArguments};
use crate::package::packages::{self, Place};
use crate::package::{signed, trust};
use crate::refusal::fault::Fault;
use crate::screen::told::Told;
use clap::Args;
use hutch_documents::By;
use hutch_model::asks::Asks;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::SkillName;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The folder that holds APP.md, a packed file, an installed package, or oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Show this skill too; may be repeated
    #[arg(long = "skill", value_name = "NAME")]
    skills: Vec<String>,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) fn show(global: &Global, own: &ShowArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (outline, trust, attester) = match network::reference(&own.package)? {
        // The component stays where it is.
        Some(reference) => {
            let repository = network::open(global, &own.network, &reference, false)?;
            let texts = network::texts(&repository, &reference)?;
            (texts.outline().map_err(|error| network::fault(error.into()))?, "remote", None)
        }
        None => {
            let (outline, place) = packages::outline(global, &own.package)?;
            let attester = match &place {
                Place::Installed(pin) => signed::hint(pin.attester.as_deref()),
                Place::Local { .. } => None,
            };
            (outline, trust::level(&trust::policy(global)?, &place), attester)
        }
    };
    let manifest = outline.manifest();
    let mut skills = Vec::new();
    for name in &own.skills {
        let known = manifest.skills().iter().find(|known| known.as_str() == name).cloned();
        let Some(known) = known.or_else(|| SkillName::parse(name).ok()) else {
            return Err(Fault::usage(format!("{name:?} is no name of a skill")));
        };
        if !manifest.skills().contains(&known) {
            let listed = manifest.skills().iter().map(SkillName::as_str).collect::<Vec<_>>().join(", ");
            let report = ErrorReport::new(ErrorCode::NotFound, format!("the package has no skill {name:?}"));
            return Err(report.suggest(format!("skills are {listed}")).into());
        }
        let skill = outline.skill(&known)?;
        let (description, content) = (skill.description().to_owned(), skill.body().to_owned());
        skills.push(SkillAnswer { name: name.clone(), description, content });
    }
    let result = ShowAnswer {
        by: By::Package,
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        trust,
        attester,
        manifest: manifest.document(),
        body: manifest.body().to_owned(),
        asks: Asks::of(manifest),
        skill_names: manifest.skills().iter().map(ToString::to_string).collect(),
        skills,
    };
    output.answer("show", result, |result| {
        let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (slug, version) = (text(result, "slug"), text(result, "version"));
        let told = Told::under(format!("{slug} {version}, in its own words"), text(result, "body"));
        result.get("skills").and_then(Value::as_array).into_iter().flatten().fold(told, |told, skill| {
            let heading = format!("{} of {slug}, in its own words", text(skill, "name"));
            told.with(Told::under(heading, text(skill, "content")))
        })
    })
}
