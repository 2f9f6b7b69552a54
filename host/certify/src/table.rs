//! The 98 rules, as data. The specification of agent-friendly command lines, version 0.1, names them; O4 to O10 come from its
//! registry.

use crate::rule::{
    Layer::{Core, Ecosystem, Recommended},
    Priority::{P0, P1, P2},
    Rule,
};

macro_rules! rules {
    ($($id:literal $priority:ident $layer:ident $text:literal, $decided_by:literal;)*) => {
        &[$(Rule { id: $id, priority: $priority, layer: $layer, text: $text, decided_by: $decided_by }),*]
    };
}

/// Every rule, in the order of the specification.
pub const RULES: &[Rule] = rules! {
    "O1" P0 Core "default output is JSON, no flag needed",
        "a valid call of every command";
    "O2" P0 Core "the JSON passes `jq .`",
        "a valid call of every command";
    "O3" P0 Core "the JSON's shape does not change within one version (same top-level keys on repeated calls and against a stored snapshot)",
        "the same call twice, and the output schema in the description";
    "O4" P2 Recommended "`--fields a,b` filters the output fields",
        "every reading call again with --fields, with one name and with two";
    "O5" P2 Recommended "an empty result is `[]` (or a result holding it), not an error",
        "every listing call on the initial state";
    "O6" P2 Recommended "`--human` gives human-friendly output",
        "a reading call with --human";
    "O7" P2 Recommended "several results come as a JSON array",
        "every listing call on a state with several entries";
    "O8" P2 Recommended "pagination carries total / page / has_more",
        "every listing call, and again with --limit 1";
    "O9" P2 Recommended "NDJSON for streaming large data, each line valid JSON",
        "a listing call in the streaming mode that the description offers";
    "O10" P2 Recommended "pipe mode is automatically JSON",
        "every reading call in an environment that looks like a terminal";
    "R1" P1 Ecosystem "every response includes `rules[]` (name + full content of agent/rules/*.md)",
        "a valid call of every command, and agent/rules";
    "R2" P1 Ecosystem "every response includes `skills[]` (name, description, command)",
        "a valid call of every command";
    "R3" P1 Ecosystem "every response includes `issue` (one-line feedback guide)",
        "a valid call of every command";
    "D1" P1 Recommended "`--help` is JSON with `commands[]`",
        "--help";
    "D2" P2 Recommended "`<command> --help` is structured too",
        "--help of every command";
    "D3" P1 Recommended "help has `help` (string) and `commands` (array)",
        "--help";
    "D4" P1 Recommended "every parameter declares its type",
        "--help";
    "D5" P2 Recommended "enum parameters list their values",
        "--help";
    "D6" P2 Recommended "parameters with a default state it",
        "--help";
    "D7" P1 Recommended "every parameter has a boolean `required`",
        "--help";
    "D8" P2 Recommended "commands have an output schema",
        "--help";
    "D9" P1 Recommended "every command has a description",
        "--help";
    "D10" P2 Recommended "the version is in the schema; `--version` is semver",
        "--help and --version";
    "D11" P1 Recommended "`--help` JSON holds help, rules, skills, commands (+ issue)",
        "--help";
    "D12" P1 Ecosystem "`agent/brief.md` exists, one paragraph",
        "agent/brief.md";
    "D13" P1 Ecosystem "`agent/rules/` has trigger.md, workflow.md, writeback.md",
        "agent/rules";
    "D14" P2 Ecosystem "`agent/skills/` and a `skills` subcommand",
        "agent/skills and the skills command";
    "D15" P1 Recommended "`--brief` prints agent/brief.md",
        "--brief and agent/brief.md";
    "D16" P1 Recommended "JSON by default; `--human` opts out; `--agent` states JSON explicitly",
        "a reading call with --human and with --agent";
    "D17" P1 Ecosystem "agent/rules/*.md carry YAML frontmatter: name, description",
        "agent/rules";
    "D18" P1 Ecosystem "agent/skills/*.md carry YAML frontmatter: name, description",
        "agent/skills";
    "E1" P0 Core "errors: `{\"error\":true,\"code\",\"message\",\"suggestion\"}` on stderr",
        "every call that failed";
    "E2" P2 Recommended "all errors on stderr, stdout empty",
        "every call that failed";
    "E3" P2 Recommended "the error is valid JSON",
        "every call that failed";
    "E4" P0 Core "machine-readable `code`",
        "every call that failed";
    "E5" P0 Core "human-readable, non-empty `message`",
        "every call that failed";
    "E6" P1 Recommended "`suggestion`",
        "every call that failed";
    "E7" P0 Core "never interactive on error: exits at once",
        "every call that failed, and again with answers on standard input";
    "E8" P0 Core "error codes are contracts: never renamed (checked against a stored list; same error twice gives the same code)",
        "the same failing call twice, and the stored list of codes";
    "I1" P1 Recommended "every flag has a `--long-name`",
        "--help";
    "I2" P1 Recommended "no positional ambiguity: each slot has one meaning",
        "--help, and every call with one bare argument too many";
    "I3" P2 Recommended "`--json-input` takes a batch on stdin",
        "--help, and a batch on standard input";
    "I4" P1 Core "missing required parameter: structured error, never a prompt",
        "every command without its required arguments, all and each, and every flag without its value";
    "I5" P1 Core "wrong type: exit 2 and a structured error",
        "every typed argument with a value of another type";
    "I6" P2 Recommended "boolean flags explicit: `--x` / `--no-x`",
        "every switch negated";
    "I7" P2 Recommended "arrays: `--tag a --tag b` or `--tag a,b`",
        "every array argument twice";
    "I8" P1 Recommended "no implicit state: nothing depends on undeclared environment or hidden files",
        "every reading call in another environment";
    "I9" P1 Recommended "authentication by flag or environment, never a prompt",
        "--help, and the failures of authentication";
    "S1" P1 Core "destructive operations require `--yes`",
        "every destructive command without --yes, and listings around every call that changes something";
    "S2" P2 Recommended "default deny, and the message names `--yes`",
        "every destructive command without --yes";
    "S3" P2 Recommended "`--dry-run` previews with no effect",
        "every changing command with --dry-run";
    "S4" P1 Core "reject `../` traversal and control characters",
        "every text argument with ../ and with control characters";
    "S5" P2 Recommended "never updates itself unasked",
        "the program before and after all calls";
    "S6" P2 Recommended "the schema marks destructive commands",
        "--help, and listings around every call that changes something";
    "S7" P2 Recommended "`--quiet` does not waive `--yes`",
        "every destructive command with --quiet and without --yes";
    "S8" P1 Recommended "`--sanitize` for external input",
        "--help, and hidden characters with --sanitize";
    "X1" P1 Recommended "0 = success",
        "a valid call of every command, those that read on another day too";
    "X2" P2 Recommended "1 = general error",
        "every call that failed, and the declared codes";
    "X3" P0 Core "2 = parameter / usage error",
        "every mistake in arguments";
    "X4" P2 Recommended "10 = authentication failed",
        "every call that failed, and the declared codes";
    "X5" P2 Recommended "11 = permission denied",
        "every call that failed, and the declared codes";
    "X6" P2 Recommended "20 = not found",
        "every call that failed, and the declared codes";
    "X7" P2 Recommended "30 = conflict / precondition",
        "every call that failed, and the declared codes";
    "X8" P2 Recommended "exit status and error code agree",
        "every call that failed, and the declared codes";
    "X9" P0 Core "a failure never exits 0",
        "every call";
    "C1" P0 Core "stdout is data only",
        "a valid call of every command";
    "C2" P0 Core "logs, progress, warnings on stderr only",
        "a valid call of every command";
    "C3" P2 Recommended "output pipes into the next command",
        "a valid call of every command";
    "C4" P2 Recommended "`--quiet` silences non-essential stderr",
        "every command with --quiet";
    "C5" P2 Recommended "one command's JSON feeds another's `--json-input`",
        "a listing on the standard input of a command that takes --json-input";
    "C6" P1 Recommended "no prompts in pipe mode; never hangs on stdin",
        "every reading call with standard input held open";
    "C7" P2 Recommended "same command + same arguments = same result (reads)",
        "every reading call twice";
    "N1" P2 Recommended "consistent noun+verb or verb+noun",
        "--help";
    "N2" P2 Recommended "flags in kebab-case",
        "--help";
    "N3" P2 Recommended "at most 3 command levels",
        "--help";
    "N4" P1 Recommended "reserved flags: --agent --human --brief --help --version --yes --dry-run --quiet --fields",
        "--help";
    "N5" P2 Recommended "human help is reachable (`--help --human`)",
        "--help --human";
    "N6" P2 Recommended "`--version` is semver",
        "--version";
    "M1" P2 Ecosystem "AGENTS.md at the project root",
        "AGENTS.md";
    "M2" P2 Ecosystem "MCP tool schema export",
        "the MCP command or flag that the description offers";
    "M3" P2 Ecosystem "CHANGELOG.md marks breaking changes",
        "CHANGELOG.md";
    "F1" P2 Ecosystem "`issue` subcommand: create / list / show / close / transition",
        "--help";
    "F2" P2 Ecosystem "an issue records version, context, exit_code",
        "a created issue";
    "F3" P2 Ecosystem "categories bug / requirement / suggestion / bad-output",
        "--help";
    "F4" P2 Ecosystem "issues stored locally",
        "issue create, then issue list";
    "F5" P2 Ecosystem "`issue list`, `issue show <id>`",
        "issue list and issue show";
    "F6" P2 Ecosystem "status open / in-progress / resolved / closed",
        "issue transition and issue close";
    "F7" P2 Ecosystem "an issue has id, type, status, message, created_at, updated_at",
        "a created issue";
    "F8" P2 Ecosystem "every issue has a status",
        "issue list";
    "G1" P1 Core "unknown flags: exit 2",
        "every command with an unknown flag";
    "G2" P1 Core "API-key / token patterns in arguments are refused (sk-, pk-, ghp_, gho_, github_pat_, xoxb-, xoxp-, AKIA, eyJ…)",
        "every text argument with a secret";
    "G3" P1 Core "sensitive file paths (*.env, *.key, *.pem, id_rsa…) are refused",
        "every text argument with a sensitive path";
    "G4" P2 Recommended "permission level per command: read / write / delete",
        "--help, and the state after reading calls";
    "G5" P2 Recommended "output redacts PII on request",
        "--help, and personal data with --redact";
    "G6" P1 Recommended "missing precondition: structured error",
        "every command with an identifier that does not exist";
    "G7" P2 Recommended "volume limits on batch operations",
        "a batch with too many entries";
    "G8" P1 Core "shell metacharacters in arguments are refused (`;` `|` `&&` `$(` backtick)",
        "every text argument with shell syntax";
    "G9" P1 Recommended "fail closed: when validation itself errors, deny",
        "values that are hard to check";
};

/// The rule with this identifier.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Layer;

    #[test]
    fn there_are_98_rules_in_three_layers() {
        let of = |layer: Layer| RULES.iter().filter(|rule| rule.layer == layer).count();
        assert_eq!((of(Core), of(Recommended), of(Ecosystem)), (20, 59, 19));
        let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 98);
    }
}
