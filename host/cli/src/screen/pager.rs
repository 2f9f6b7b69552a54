//! The pager of a person's choice, for texts that are longer than the screen: `HUTCH_PAGER`, else `PAGER`, else `less`, as a shell
//! reads it. An empty one, or `cat`, is none.

use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};

/// What a shell ends with when it does not find the program.
const NOT_FOUND: i32 = 127;

/// Shows a text, and waits until its reader has seen enough. `false` if nothing of it was shown.
pub(crate) fn show(text: &str) -> bool {
    let Some(pager) = chosen() else { return false };
    through(&pager, text).is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

#[expect(clippy::disallowed_methods, reason = "the variables are the person's settings")]
fn chosen() -> Option<String> {
    let named = ["HUTCH_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let pager = named.unwrap_or_else(|| "less".to_owned());
    (!matches!(pager.trim(), "" | "cat")).then_some(pager)
}

#[expect(clippy::disallowed_methods, reason = "the person's pager is a program of theirs")]
fn through(pager: &str, text: &str) -> std::io::Result<ExitStatus> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    // As git does: the text stays on the screen, our emphasis is shown, and a text that fits needs no key.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // Who has seen enough reads no more.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait()
}
