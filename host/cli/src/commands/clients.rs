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
    /// Codex
    Codex,
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
    /// The same as its file has it, where that is no JSON.
    pub(super) text: Option<String>,
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
            Client::Codex => ".codex/config.toml",
            Client::Cursor => ".cursor/mcp.json",
            Client::Gemini => ".gemini/settings.json",
            Client::Windsurf => ".codeium/windsurf/mcp_config.json",
        };
        Ok(surroundings::person()?.join(place))
    }

    /// What the servers are called in it.
    fn key(self) -> &'static str {
        match self {
            Client::Codex => "mcp_servers",
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
        let text = matches!(self, Client::Codex).then(|| self.table(&server));
        let configuration = json!({self.key(): {NAME: server}});
        Ok(Told { path: path.display().to_string(), configuration, text, backup })
    }

    /// Puts the server into the file and leaves all else in it as it is written. The bytes that it had are kept beside it first. Other servers'
    /// tokens may stand there: nobody gets to read them by it.
    fn write(self, path: &Path, server: &Value, wait: Duration) -> Result<Option<String>, Fault> {
        if !is_there(path) {
            let text = self.with("", server).ok_or_else(|| self.unread(path))?;
            make_private(new_file::folder_of(path))?;
            return NewFile::begin_private(path)?.filled(text.as_bytes()).map(|()| None);
        }
        let bytes = input::whole(path, FILE_BYTES_MAX, wait)?;
        let whole = std::str::from_utf8(&bytes).ok();
        let changed = whole.and_then(|whole| self.with(whole, server)).ok_or_else(|| self.unread(path))?;
        if whole == Some(changed.as_str()) {
            return Ok(None);
        }
        let backup = kept(path, &bytes)?;
        new_file::replace(path, changed.as_bytes())?;
        Ok(Some(backup))
    }

    /// The text of its file with the server in it; none where it can't be put there.
    fn with(self, whole: &str, server: &Value) -> Option<String> {
        if matches!(self, Client::Codex) {
            return with_table(whole, self.key(), &self.table(server));
        }
        let names = [self.key(), NAME];
        match whole.trim() {
            "" => Some(format!("{}\n", spliced::with("{}", &names, server).ok()?)),
            text => {
                let all = document::read(text.as_bytes()).ok()?;
                if all[self.key()][NAME] == *server {
                    return Some(whole.to_owned());
                }
                Some(whole.replacen(text, &spliced::with(text, &names, server).ok()?, 1))
            }
        }
    }

    /// The server as a table of TOML, which writes texts and lists of them as JSON does, but for one character.
    fn table(self, server: &Value) -> String {
        let fields = server.as_object().into_iter().flatten();
        let lines: String = fields.map(|(name, value)| format!("{name} = {value}\n")).collect();
        format!("[{}.{NAME}]\n{}", self.key(), lines.replace('\u{7f}', "\\u007f"))
    }

    fn unread(self, path: &Path) -> Fault {
        let (path, key) = (path.display(), self.key());
        let message = match self {
            Client::Codex => format!("{path} is no text, or tells of {key}.{NAME} already, and is left alone"),
            _ => format!("{path} is no JSON object in which {key} is one, and is left alone"),
        };
        let report = ErrorReport::new(ErrorCode::Usage, message);
        report.suggest("put there by hand what the call prints without --write").into()
    }
}

/// A TOML text with one table more at its end; none where another of its name may stand there.
fn with_table(whole: &str, key: &str, table: &str) -> Option<String> {
    if whole.contains(table) {
        return Some(whole.to_owned());
    }
    let (own, all) = (format!("[{key}.{NAME}"), format!("[{key}]"));
    let is_told = whole.lines().any(|line| {
        let bare: String = line.chars().filter(|one| !matches!(one, ' ' | '\t' | '"' | '\'')).collect();
        [own.as_str(), &all, key].iter().any(|begin| bare.starts_with(begin))
    });
    let gap = match whole {
        "" => "",
        _ if whole.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    (!is_told).then(|| format!("{whole}{gap}{table}"))
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
