//! The command line as an agent meets it: each test calls the built program, with an empty environment and a home of its own.

#[path = "agent_commands/answers.rs"]
mod answers;
#[path = "agent_commands/contracts.rs"]
mod contracts;
#[path = "agent_commands/help.rs"]
mod help;
#[path = "agent_commands/launchers.rs"]
mod launchers;
#[path = "agent_commands/packages.rs"]
mod packages;
#[path = "agent_commands/packed.rs"]
mod packed;
#[path = "agent_commands/program.rs"]
mod program;
