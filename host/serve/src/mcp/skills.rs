//! What packages teach, as resources and by the protocol's extension for skills: every file of a skill with the digest of its bytes. All of
//! it is read when serving begins.

use crate::serving::{ServeError, Served};
use hutch::Failure;
use hutch::package::Package;
use hutch_model::hidden::hidden;
use hutch_model::names::PackagePath;
use hutch_model::skill::{self, SKILL_FILE, SKILLS_FOLDER};
use rmcp::model::{MetaObject, Resource, ResourceContents, Skill, SkillFrontmatter, SkillResource, SkillResources};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most bytes of all files together.
const BYTES_MAX: usize = 16 << 20;

/// All that is taught.
#[derive(Default)]
pub(super) struct Skills {
    pub(super) skills: Vec<Skill>,
    /// By where the protocol finds it.
    files: BTreeMap<String, File>,
}

struct File {
    description: Option<String>,
    bytes: Vec<u8>,
}

impl Skills {
    /// What these packages teach, and their own `APP.md`.
    pub(super) fn of(packages: &[Served]) -> Result<Skills, ServeError> {
        let mut all = Skills::default();
        for served in packages {
            let (slug, manifest) = (served.slug(), served.package.manifest());
            let about = File {
                description: Some(served.contract.summary.clone()),
                bytes: manifest.body().trim().as_bytes().to_vec(),
            };
            all.files.insert(format!("hutch://{slug}/APP.md"), about);
            for name in manifest.skills() {
                all.add(slug, &served.package, name.as_str())?;
            }
        }
        let bytes: usize = all.files.values().map(|file| file.bytes.len()).sum();
        if bytes > BYTES_MAX {
            return Err(ServeError::System(format!("the skills have {bytes} bytes, {BYTES_MAX} allowed")));
        }
        Ok(all)
    }

    fn add(&mut self, slug: &str, package: &Package, name: &str) -> Result<(), ServeError> {
        let unfit = |reason: String| ServeError::System(format!("the skill {name} of {slug}: {reason}"));
        let folder = format!("{SKILLS_FOLDER}/{name}");
        let path = PackagePath::parse(&folder).map_err(|error| unfit(error.to_string()))?;
        let entries = package.entries(&path).map_err(|error| ServeError::Host(Failure::from(error)))?;
        let (mut resources, mut taught) = (Vec::new(), None);
        for entry in entries.into_iter().filter(|entry| entry.file_bytes.is_some()) {
            let bytes = package.read(&entry.path).map_err(|problem| unfit(problem.to_string()))?;
            let below = entry.path.as_str().strip_prefix(&format!("{SKILLS_FOLDER}/")).unwrap_or_default();
            let uri = format!("skill://{slug}/{}", encoded(below));
            resources.push(SkillResource::from_bytes(uri.clone(), &bytes));
            let mut description = None;
            if entry.path.as_str() == format!("{folder}/{SKILL_FILE}") {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let parsed = hutch_model::names::SkillName::parse(name).ok();
                let (read, _) = parsed.map_or((None, Vec::new()), |parsed| skill::parse(&text, SKILL_FILE, &parsed));
                let read = read.ok_or_else(|| unfit(format!("{SKILL_FILE} breaks its rules")))?;
                description = Some(read.description().to_owned());
                let mut fields = SkillFrontmatter::new(name, read.description());
                if let Value::Object(all) = read.document() {
                    fields.extra.extend(all.into_iter().filter(|(key, _)| key != "name" && key != "description"));
                }
                taught = Some((uri.clone(), fields));
            }
            self.files.insert(uri, File { description, bytes });
        }
        let (uri, fields) = taught.ok_or_else(|| unfit(format!("it has no {SKILL_FILE}")))?;
        let mut skill = Skill::new(uri, fields, SkillResources::Files(resources));
        skill.meta = Some(by_package());
        self.skills.push(skill);
        Ok(())
    }

    /// What can be read.
    pub(super) fn resources(&self) -> Vec<Resource> {
        let one = |(uri, file): (&String, &File)| {
            let resource = Resource::new(uri, uri.rsplit('/').next().unwrap_or_default());
            let resource = resource.with_mime_type(mime(uri, &file.bytes)).with_size(file.bytes.len() as u64);
            let resource = resource.with_meta(by_package());
            match &file.description {
                Some(description) => resource.with_description(description),
                None => resource,
            }
        };
        self.files.iter().map(one).collect()
    }

    /// What stands there; as text if it is some and all of it is seen, and else in base64: a model reads a text whole.
    pub(super) fn read(&self, uri: &str) -> Option<ResourceContents> {
        let file = self.files.get(uri)?;
        let is_seen = |text: &str| hidden(text).all(|(_, c)| matches!(c, '\n' | '\r' | '\t'));
        let contents = match std::str::from_utf8(&file.bytes) {
            Ok(text) if is_seen(text) => ResourceContents::text(text, uri),
            _ => ResourceContents::blob(data_encoding::BASE64.encode(&file.bytes), uri),
        };
        Some(contents.with_mime_type(mime(uri, &file.bytes)).with_meta(by_package()))
    }
}

/// Whose words these are, as tools say it too.
fn by_package() -> MetaObject {
    MetaObject(Map::from_iter([("hutch/by".to_owned(), "package".into())]))
}

fn mime(uri: &str, bytes: &[u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Err(_) => "application/octet-stream",
        Ok(_) if uri.ends_with(".md") => "text/markdown",
        Ok(_) => "text/plain",
    }
}

/// A path as it stands in an address.
fn encoded(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    path.bytes().map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
