//! A manifest in its compact form.

use super::{Guard, Manifest, Requests, Scheduling, Version};
use crate::command_line::EntryCommand;
use crate::kept::{json, keep, recall};
use crate::limits::Limit;
use crate::names::{CommandPath, EnvironmentName, PackagePath, SkillName, Slug};
use crate::node::Node;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// All of it, in another shape than the one that its JSON has.
#[derive(Serialize, Deserialize)]
struct Kept {
    slug: (Slug, bool),
    name: String,
    description: String,
    version: String,
    entry: EntryCommand,
    commands: (Vec<CommandPath>, Vec<CommandPath>),
    skills: Vec<SkillName>,
    scheduling: Option<Scheduling>,
    license: Option<String>,
    #[serde(with = "json")]
    authors: Vec<Value>,
    tags: Vec<String>,
    folders: (Vec<PackagePath>, Vec<PackagePath>, Vec<PackagePath>),
    env: Vec<EnvironmentName>,
    limits: BTreeMap<Limit, u64>,
    guard: Option<Guard>,
    feedback: Option<String>,
    fields: Node,
    front_matter: String,
    body: (String, u32),
}

impl Manifest {
    /// The compact form; `None` if the manifest would not come back as it is.
    pub fn keep(&self) -> Option<Vec<u8>> {
        let Manifest {
            slug,
            slug_derived,
            name,
            description,
            version,
            entry,
            commands,
            confirmation_required,
            skills,
            scheduling,
            license,
            authors,
            tags,
            requests: Requests { state, resources, mounts, env, limits, guard, feedback },
            fields,
            front_matter,
            body,
            body_line,
        } = self.clone();
        let kept = keep(&Kept {
            slug: (slug, slug_derived),
            name,
            description,
            version: version.0.to_string(),
            entry,
            commands: (commands, confirmation_required),
            skills,
            scheduling,
            license,
            authors,
            tags,
            folders: (state, resources, mounts),
            env,
            limits,
            guard,
            feedback,
            fields,
            front_matter,
            body: (body, body_line),
        })?;
        (Manifest::recall(&kept).as_ref() == Some(self)).then_some(kept)
    }

    /// The manifest that was kept as `bytes`; `None` if they are of another version.
    pub fn recall(bytes: &[u8]) -> Option<Manifest> {
        let kept: Kept = recall(bytes)?;
        let (state, resources, mounts) = kept.folders;
        Some(Manifest {
            slug: kept.slug.0,
            slug_derived: kept.slug.1,
            name: kept.name,
            description: kept.description,
            version: Version(semver::Version::parse(&kept.version).ok()?),
            entry: kept.entry,
            commands: kept.commands.0,
            confirmation_required: kept.commands.1,
            skills: kept.skills,
            scheduling: kept.scheduling,
            license: kept.license,
            authors: kept.authors,
            tags: kept.tags,
            requests: Requests {
                state,
                resources,
                mounts,
                env: kept.env,
                limits: kept.limits,
                guard: kept.guard,
                feedback: kept.feedback,
            },
            fields: kept.fields,
            front_matter: kept.front_matter,
            body: kept.body.0,
            body_line: kept.body.1,
        })
    }
}
