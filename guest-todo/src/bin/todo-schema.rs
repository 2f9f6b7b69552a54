//! Prints what `packages/todo/schemas/commands.json` must hold: `cargo run -p guest-todo --bin todo-schema`.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = guest_todo::description::TODO.to_json()?;
    Ok(std::io::stdout().write_all(json.as_bytes())?)
}
