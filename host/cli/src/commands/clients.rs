//! What makes the clients of the protocol that people have start `hutch mcp`: where each reads it, and in which form.

use super::spliced;
use crate::machine::new_file::{self, NewFile};
use crate::machine::place::make_private;
use crate::machine::{input, surroundings};
use crate::package::packages::is_there;
use crate::refusal::fault::Fault;
use clap::ValueEnum;
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most bytes of a client's file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// What the server is called there.
const NAME: &str = "hutch";

/// A client.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Client {
    /// Claude Desktop
    Claude,
    /// Claude Code, in this folder
    ClaudeCode,
    /// Cursor
    Cursor,
    /// Gemini CLI
    Gemini,
    /// Visual Studio Code, in this folder
    Vscode,
    /// Windsurf
    Windsurf,
}

/// What a client is to be told, and where.
pub(super) struct Told {
    pub(super) path: String,
    pub(super) configuration: Value,
    /// Where the bytes are that the file had.
    pub(super) backup: Option<String>,
}

impl Client {
    /// The file that it reads.
    fn file(self) -> Result<PathBuf, Fault> {
        let place = match self {
            Client::ClaudeCode => return here(".mcp.json"),
            Client::Vscode => return here(".vscode/mcp.json"),
            Client::Claude if cfg!(target_os = "macos") => {
                "Library/Application Support/Claude/claude_desktop_config.json"
            }
            Client::Claude => ".config/Claude/claude_desktop_config.json",
            Client::Cursor => ".cursor/mcp.json",
            Client::Gemini => ".gemini/settings.json",
            Client::Windsurf => ".codeium/windsurf/mcp_config.json",
        };
        Ok(surroundings::person()?.join(place))
    }

    /// What the servers are called in it.
    fn key(self) -> &'static str {
        match self {
            Client::Vscode => "servers",
            _ => "mcpServers",
        }
    }

    /// What it is to be told so that it starts this program with these words; with `write` it stands in its file then.
    pub(super) fn told(self, words: &[String], write: bool, wait: Duration) -> Result<Told, Fault> {
        let program =
            surroundings::program().map_err(|error| Fault::host(format!("no path to this program: {error}")))?;
        let mut server = json!({"command": program, "args": words});
        if matches!(self, Client::Vscode) {
            server["type"] = "stdio".into();
        }
        let path = self.file()?;
        let backup = if write { self.write(&path, &server, wait)? } else { None };
        let configuration = json!({self.key(): {NAME: server}});
        Ok(Told { path: path.display().to_string(), configuration, backup })
    }

    /// Puts the server into the file and leaves all else in it as it is written. The bytes that it had are kept beside it first. Other servers'
    /// tokens may stand there: nobody gets to read them by it.
    fn write(self, path: &Path, server: &Value, wait: Duration) -> Result<Option<String>, Fault> {
        let names = [self.key(), NAME];
        if !is_there(path) {
            let text = spliced::with("{}", &names, server).map_err(|error| Fault::host(error.to_string()))?;
            make_private(new_file::folder_of(path))?;
            return NewFile::begin_private(path)?.filled(format!("{text}\n").as_bytes()).map(|()| None);
        }
        let bytes = input::whole(path, FILE_BYTES_MAX, wait)?;
        let whole = std::str::from_utf8(&bytes).map_err(|_| unread(path, self.key()))?;
        let changed = match whole.trim() {
            "" => format!("{}\n", spliced::with("{}", &names, server).map_err(|_| unread(path, self.key()))?),
            text => {
                let all = document::read(text.as_bytes()).map_err(|_| unread(path, self.key()))?;
                if all[self.key()][NAME] == *server {
                    return Ok(None);
                }
                let new = spliced::with(text, &names, server).map_err(|_| unread(path, self.key()))?;
                whole.replacen(text, &new, 1)
            }
        };
        let backup = kept(path, &bytes)?;
        new_file::replace(path, changed.as_bytes())?;
        Ok(Some(backup))
    }
}

fn unread(path: &Path, key: &str) -> Fault {
    let message = format!("{} is no JSON object in which {key} is one, and is left alone", path.display());
    let report = ErrorReport::new(ErrorCode::Usage, message);
    report.suggest("put there by hand what the call prints without --write").into()
}

/// Keeps bytes beside the file under the first name that is free, for its owner alone.
fn kept(path: &Path, bytes: &[u8]) -> Result<String, Fault> {
    let named = |at: u32| {
        PathBuf::from(format!(
            "{}.before-hutch{}",
            path.display(),
            if at == 0 { String::new() } else { format!("-{at}") }
        ))
    };
    let free = (0..1000).map(named).find(|one| !is_there(one));
    let backup = free.ok_or_else(|| Fault::usage(format!("{} has too many backups beside it", path.display())))?;
    NewFile::begin_private(&backup)?.filled(bytes)?;
    Ok(backup.display().to_string())
}

fn here(name: &str) -> Result<PathBuf, Fault> {
    std::path::absolute(name).map_err(|error| Fault::file(Path::new(name), &error))
}
