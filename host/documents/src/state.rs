//! The state: its volumes, folders and files.

use crate::bounds::FILE_BYTES;
use crate::moved::{Changed, SkippedPaths};
use crate::page::{Listed, Page};
use crate::{Open, is_zero};
use hutch::{EntryName, Failure, Item, Session};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::snapshot::Node;
use hutch_store::Skipped;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What differs; where it was changed outside of any run, what the state is too.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffAnswer {
    #[serde(flatten)]
    changed: Changed,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "Open")]
    volumes: BTreeMap<String, VolumeStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct VolumeStatus {
    digest: Digest,
    #[serde(skip_serializing_if = "is_zero")]
    changes_omitted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<SkippedPaths>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld_omitted: Option<u64>,
}

/// What stands at a path.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ItemAnswer {
    path: String,
    #[schemars(extend("enum" = ["volume", "file", "folder", "link"]))]
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    modified: Option<Instant>,
    /// Of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    digest: Option<Digest>,
    /// Of all files in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    files: Option<u64>,
    /// Of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    target: Option<String>,
}

/// A file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileAnswer {
    path: String,
    size: usize,
    #[schemars(extend("enum" = ["utf-8", "base64"]))]
    encoding: &'static str,
    content: String,
}

/// What stands at a path.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PathAnswer {
    /// What a folder holds.
    Folder(Listed<ItemAnswer>),
    /// A file.
    File(FileAnswer),
}

/// What was changed outside since the last entry: a [`DiffAnswer`].
pub fn outside_value(session: &Session) -> Result<Value, Failure> {
    let (mut edits, withheld) = (session.edits()?, session.withheld()?);
    let (mut changes, mut volumes) = (BTreeMap::new(), BTreeMap::new());
    for (name, digest) in session.state_at(None)? {
        let (changed, skipped) = edits.remove(&name).unwrap_or_default();
        let withheld = withheld.get(&name);
        let status = VolumeStatus {
            digest,
            changes_omitted: changed.omitted,
            skipped: (skipped != Skipped::default()).then(|| SkippedPaths::from(&skipped)),
            withheld: withheld.map(|withheld| withheld.listed.clone()),
            withheld_omitted: withheld.map(|withheld| withheld.omitted),
        };
        changes.insert(name.clone(), changed);
        volumes.insert(name, status);
    }
    Ok(json!(DiffAnswer { changed: Changed::from(&changes), volumes, unsettled: Some(session.unsettled()?) }))
}

/// What stood at a path when an entry had left it, or stands there now, as a [`PathAnswer`]: a folder as [`files_value`] has it, or a file as
/// [`file_value`] has it.
pub fn path_value(
    session: &Session,
    at: Option<&EntryName>,
    path: Option<&str>,
    page: &Page,
) -> Result<Result<Value, Box<ErrorReport>>, Failure> {
    if let Some(text) = path {
        let state = session.state_at(at)?;
        if !session.is_folder(&state, &session.state_path(&state, text)?)? {
            return file_value(session, at, text);
        }
    }
    Ok(Ok(files_value(session, at, path, page)?))
}

/// What a folder held when an entry had left it, or holds now, an [`ItemAnswer`] each; all volumes if no path is named.
pub fn files_value(
    session: &Session,
    at: Option<&EntryName>,
    path: Option<&str>,
    page: &Page,
) -> Result<Value, Failure> {
    let state = session.state_at(at)?;
    let items = match path {
        Some(path) => session.list(&state, &session.state_path(&state, path)?)?,
        None => state.keys().map(|name| Item::volume(name)).collect(),
    };
    Ok(page.of(items.iter().map(item_answer).collect()))
}

fn item_answer(item: &Item) -> ItemAnswer {
    let (path, default) = (item.path.clone(), ItemAnswer::default());
    let Some(entry) = &item.entry else { return ItemAnswer { path, r#type: "volume", ..default } };
    let default = ItemAnswer { path, modified: Some(Instant::from_unix_ns(entry.modified_ns)), ..default };
    match &entry.node {
        Node::File { size, content } => {
            ItemAnswer { r#type: "file", size: Some(*size), digest: Some(*content), ..default }
        }
        Node::Folder { tree, totals } => ItemAnswer {
            r#type: "folder",
            digest: Some(*tree),
            bytes: Some(totals.bytes),
            files: Some(totals.files),
            ..default
        },
        Node::Link { target } => ItemAnswer { r#type: "link", target: Some(target.to_string()), ..default },
    }
}

/// Whether a text is long, and longer still as JSON writes it, where a byte without a letter takes six.
fn is_bulky(text: &str) -> bool {
    const SHORT_BYTES: usize = 1 << 20;
    let written = || text.bytes().filter(|byte| *byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t')).count() * 6;
    text.len() > SHORT_BYTES && written() > text.len() / 2
}

/// A file as an entry had left it, or as it is now, as a [`FileAnswer`]; a report where it is longer than an answer may be.
pub fn file_value(
    session: &Session,
    at: Option<&EntryName>,
    text: &str,
) -> Result<Result<Value, Box<ErrorReport>>, Failure> {
    let state = session.state_at(at)?;
    let path = session.state_path(&state, text)?;
    let (mut content, mut too_long) = (Vec::new(), false);
    let read = session.read(&state, &path, &mut |bytes| {
        too_long = FILE_BYTES.is_below((content.len() + bytes.len()) as u64);
        if too_long {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        content.extend_from_slice(bytes);
        Ok(())
    });
    if too_long {
        let message = format!("{text} is longer than the {} bytes that an answer holds", FILE_BYTES.max);
        return Ok(Err(Box::new(ErrorReport::new(ErrorCode::Usage, message))));
    }
    read?;
    let size = content.len();
    let (encoding, content) = match String::from_utf8(content) {
        Ok(text) if !is_bulky(&text) => ("utf-8", text),
        Ok(text) => ("base64", data_encoding::BASE64.encode(text.as_bytes())),
        Err(error) => ("base64", data_encoding::BASE64.encode(error.as_bytes())),
    };
    Ok(Ok(json!(FileAnswer { path: text.to_owned(), size, encoding, content })))
}
