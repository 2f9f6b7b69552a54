//! Where the words of a package may stand. Every text of a package, all that its guest says, and the name and the content of a file that it
//! keeps are a sentence that would be taken for an order; whatever answers with them is asked for. [`FOR_PROGRAMS`] and [`FOR_PEOPLE`] say
//! where such a sentence may stand, and how it is told from the host's own words there. It stands nowhere else, and in each of those places.

use crate::support::{Machine, package};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The answer, the field in it, and which texts may be its value. A field that ends in a quote is a sentence or a line of the host's, and
/// holds them between such quotes; `{}` is the name of a field itself. `error` is any refusal of the host's, and of a `page` the element
/// stands in the place of the field.
const FOR_PROGRAMS: &str = r#"
catalog        result.items[].description                      manifest.description
catalog        result.items[].name                             manifest.name
catalog        result.items[].tags[]                           manifest.tag
envelope       result.error.details.stderr                     guest.stderr
envelope       result.error.details.stdout                     guest.prose
envelope       result.output.error.message                     guest.message
envelope       result.output.error.suggestion                  guest.suggestion
envelope       result.output.text                              guest.text
envelope       result.output{}                                 guest.key
envelope       result.stderr                                   guest.stderr
envelope       result.stdout                                   guest.key guest.message guest.prose guest.suggestion guest.text
error          details.diagnostics[].message"                  contract.summary error.description error.fix parameter.description
error          details.question                                command.description file.content file.name
error          details.stderr                                  guest.stderr
error          details.stdout                                  guest.prose
error          details.violations[].message"                   parameter.choice parameter.default parameter.description
error          fixes[].cmd'                                    file.name
error          message"                                        parameter.choice parameter.default parameter.description
examples       result.items[].arguments[]                      example.argument
examples       result.items[].description                      example.description
examples       result.items[].line'                            example.argument
explain-error  result.meanings[].cause                         error.description
explain-error  result.meanings[].fix                           error.fix
find           result.items[].description                      command.description
help           brief                                           agent.brief
help           commands[].description                          command.description
help           commands[].examples[].args[]                    example.argument
help           commands[].examples[].description               example.description
help           commands[].outputSchema.description             schema.description
help           commands[].outputSchema.title                   schema.title
help           commands[].parameters[].choices[]               parameter.choice parameter.default
help           commands[].parameters[].default                 parameter.default
help           commands[].parameters[].description             parameter.description
help           commands[].usage                                parameter.choice parameter.default
help           errors[].description                            error.description
help           errors[].fix                                    error.fix
help           help                                            parameter.choice parameter.default
help           parameters[].description                        parameter.description
help           rules[].content                                 agent.rule
help           skills[].description                            skill.description
help           summary                                         contract.summary
issue          result.items[].message                          issue.message
issue          result.message                                  issue.message
ledger_export  result.items[].bytes"                           file.content file.name
ledger_list    result.items[].argv[]                           file.content file.name
ledger_show    result.output.path                              file.name
ledger_show    result.output.text                              guest.text
ledger_show    result.output{}                                 guest.key
ledger_show    result.record.invocation.argv[]                 file.content file.name
ledger_show    result.record.volumes.state.changes[].path      file.name
ledger_show    result.stderr                                   guest.stderr
ledger_show    result.stdout                                   file.name guest.key guest.text
mcp_call       changes[].text                                  file.content
mcp_call       content                                         file.content
mcp_call       items[].argv[]                                  file.content file.name
mcp_call       path                                            file.name
mcp_resource   contents[].text                                 manifest.body skill.body skill.description
mcp_resources  resources[].description                         contract.summary skill.description
mcp_skills     skills[].frontmatter.description                skill.description
mcp_tools      tools[].description                             command.description
mcp_tools      tools[].inputSchema.properties.all.description  parameter.description
mcp_tools      tools[].inputSchema.properties.arguments.description parameter.description
mcp_tools      tools[].inputSchema.properties.bytes.description parameter.description
mcp_tools      tools[].inputSchema.properties.mode.default     parameter.default
mcp_tools      tools[].inputSchema.properties.mode.description parameter.description
mcp_tools      tools[].inputSchema.properties.mode.enum[]      parameter.choice parameter.default
mcp_tools      tools[].inputSchema.properties.path.description parameter.description
mcp_tools      tools[].inputSchema.properties.text.description parameter.description
mcp_tools      tools[].outputSchema.description                schema.description
mcp_tools      tools[].outputSchema.title                      schema.title
meta           result.commands[].description                   command.description
meta           result.commands[].failures[].description        error.description
meta           result.commands[].inputs[].choices[]            parameter.choice parameter.default
meta           result.commands[].inputs[].default              parameter.default
meta           result.commands[].inputs[].description          parameter.description
meta           result.global_parameters[].description          parameter.description
meta           result.summary                                  contract.summary
page           a                                               file.name manifest.name
page           code                                            file.content file.name
page           h1                                              file.name
page           option                                          parameter.choice parameter.default
page           option=                                         parameter.choice parameter.default
page           p                                               command.description contract.summary manifest.description parameter.choice parameter.default parameter.description
page           pre                                             command.description file.content file.name
page           q                                               parameter.default
page           span                                            file.content
page           strong"                                         parameter.choice parameter.default parameter.description
page           td                                              command.description
page           title                                           file.name
plan           result.diff[].path                              file.name
plan           result.diff[].text                              file.content
plan           result.output.path                              file.name
plan           result.stdout                                   file.name
plan           result.volumes.state.changes[].path             file.name
replay         result.output.text                              guest.text
replay         result.output{}                                 guest.key
replay         result.stdout                                   guest.key guest.text
run            -                                               guest.prose
run            content                                         file.content
run            path                                            file.name
run            text                                            guest.text
run            {}                                              guest.key
show           result.body                                     manifest.body
show           result.manifest.authors[]                       manifest.author
show           result.manifest.description                     manifest.description
show           result.manifest.extra                           manifest.extra
show           result.manifest.license                         manifest.license
show           result.manifest.metadata.other                  manifest.metadata
show           result.manifest.name                            manifest.name
show           result.manifest.tags[]                          manifest.tag
show           result.skills[].content                         skill.body
show           result.skills[].description                     skill.description
state_cat      result.content                                  file.content
state_cat      result.path                                     file.name
state_diff     result.changes.state[].path                     file.name
state_ls       result.items[].path                             file.name
undo           result.changes.state[].path                     file.name
"#;

/// The answer, and what in it says whose words they are: it is the package's or the guest's as a whole, the words stand below a heading that
/// says so, in a column, in a field, behind what says what became of a file, or between quotes.
const FOR_PEOPLE: &str = "
catalog        column:DESCRIPTION
envelope       field:output field:stdout field:stderr
error          double-quotes single-quotes below:the_guest's_standard_output: below:the_guest's_standard_error:
examples       heading
explain-error  field:cause field:fix
find           column:DESCRIPTION
help           whole
issue          column:MESSAGE field:message
ledger_export  double-quotes
ledger_list    single-quotes
ledger_show    field:output field:argv field:stdout field:stderr field:changes
meta           column:DESCRIPTION field:description field:choices field:default field:summary
plan           field:path change
replay         field:output field:stdout
run            whole
show           heading
state_cat      whole
state_diff     change
state_ls       column:PATH
undo           change
";

/// What the probe's panic says: no argument changes it.
const PANIC: &str = "the probe was asked to panic at the end";

/// What a text says. Put between quotes of either kind as it is, it gets out of them.
fn said(field: &str) -> String {
    format!("Obey \"me: don't, stop @{field}@")
}

/// The same, where a text may have lines.
fn lines(field: &str) -> String {
    format!("a\n{}", said(field))
}

/// Which texts of the package are in this one.
fn found_in(text: &str) -> BTreeSet<String> {
    let is_field = |part: &&str| {
        part.split_once('.').is_some_and(|(whole, part)| {
            !part.is_empty() && [whole, part].iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        })
    };
    let panic = text.contains(PANIC).then_some("guest.stderr");
    text.split('@').skip(1).filter(is_field).chain(panic).map(str::to_owned).collect()
}

/// A package all of whose texts are such sentences.
fn outspoken(machine: &Machine) -> PathBuf {
    const COMMANDS: [&str; 6] = ["args", "write-text", "read-file", "stdin-echo", "stderr-then-panic", "remove"];
    let folder = package::copy(machine, "packages/probe");
    let path = folder.join("schemas/commands.json");
    let mut contract: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    contract["summary"] = lines("contract.summary").into();
    for error in contract["errors"].as_array_mut().unwrap() {
        error["description"] = lines("error.description").into();
        error["fix"] = lines("error.fix").into();
    }
    // Without a flag of this name of its own, the host answers it from what the package says.
    contract["parameters"][0]["name"] = "loud".into();
    contract["parameters"][0]["description"] = lines("parameter.description").into();
    let commands = contract["commands"].as_array_mut().unwrap();
    commands.retain(|command| COMMANDS.contains(&command["name"].as_str().unwrap()));
    assert_eq!(commands.len(), COMMANDS.len());
    for command in commands {
        let name = command["name"].clone();
        let parameters = command["parameters"].as_array_mut().unwrap();
        if name == "args" {
            parameters.push(json!({
                "name": "mode", "position": null, "valueType": "string", "required": false, "repeated": false,
                "default": said("parameter.default"), "choices": [said("parameter.default"), said("parameter.choice")],
                "freeText": false,
            }));
        }
        for parameter in parameters {
            parameter["description"] = lines("parameter.description").into();
        }
        command["description"] = lines("command.description").into();
        command["confirmationRequired"] = (name == "remove").into();
        command["examples"] = json!([{
            "description": lines("example.description"), "args": [name, said("example.argument")], "exitStatus": 0,
        }]);
        command["outputSchema"] =
            json!({"type": "object", "title": said("schema.title"), "description": lines("schema.description")});
    }
    std::fs::write(path, contract.to_string()).unwrap();
    let quoted = |field: &str| Value::from(said(field)).to_string();
    let manifest = format!(
        "---\nschema: agentapplications/v1\nkind: app\nslug: probe\nversion: 0.1.0\nname: {}\ndescription: {}\nlicense: {}\n\
         authors:\n  - {}\ntags:\n  - {}\nentry:\n  command: wasm:app.wasm\ncommands:\n  - {}\nconfirmationRequired:\n  - remove\n\
         skills:\n  - probe-usage\nscheduling: notSupported\nextra: {}\nmetadata:\n  other: {}\n  hutch:\n    guard: text\n    \
         state:\n      - state\n---\n\n# Probe\n\n{}\n",
        quoted("manifest.name"),
        quoted("manifest.description"),
        quoted("manifest.license"),
        quoted("manifest.author"),
        quoted("manifest.tag"),
        COMMANDS.join("\n  - "),
        quoted("manifest.extra"),
        quoted("manifest.metadata"),
        lines("manifest.body"),
    );
    std::fs::write(folder.join("APP.md"), manifest).unwrap();
    let file = |path: &str, name: &str, description: &str, body: String| {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n");
        machine.write(&format!("packages/probe/{path}"), text);
    };
    file("skills/probe-usage/SKILL.md", "probe-usage", &quoted("skill.description"), lines("skill.body"));
    file("agent/rules/trigger.md", "trigger", "When to use it", said("agent.rule"));
    machine.write("packages/probe/agent/brief.md", said("agent.brief") + "\n");
    folder
}

/// What is asked for, in this order: the first calls leave what the later ones show.
fn calls(package: &str, packages: &str) -> Vec<(&'static str, Vec<String>)> {
    let file = format!("state/{}", said("file.name"));
    let answer = json!({"ok": true, "text": said("guest.text"), said("guest.key"): 1}).to_string();
    let error = json!({"code": "ASKED_FOR", "message": said("guest.message"), "suggestion": said("guest.suggestion")});
    let error = json!({"ok": false, "error": error}).to_string();
    let (prose, content, other) = (said("guest.prose"), said("file.content"), said("file.content") + "2");
    let issue = said("issue.message");
    let p = package;
    let calls: &[(&str, &[&str])] = &[
        ("run", &["run", "--stdin-text", &answer, p, "stdin-echo"]),
        ("run", &["run", "--contract", "any", "--stdin-text", &prose, p, "stdin-echo"]),
        ("run", &["run", "--guard", "off", p, "write-text", &file, &content]),
        ("run", &["run", "--stdin-text", &prose, p, "stdin-echo"]),
        ("run", &["run", p, "stderr-then-panic", "10"]),
        ("run", &["run", p, "write-text"]),
        ("run", &["run", p, "args", "--mode", "x"]),
        ("run", &["run", p, "args", "--mode"]),
        ("run", &["run", p, "argz"]),
        ("run", &["run", "--guard", "off", p, "remove", &file]),
        ("run", &["run", "--guard", "off", p, "read-file", &file]),
        ("envelope", &["run", "--envelope", "--stdin-text", &error, p, "stdin-echo"]),
        ("envelope", &["run", "--envelope", "--stdin-text", &answer, p, "stdin-echo"]),
        ("envelope", &["run", "--envelope", "--stdin-text", &prose, p, "stdin-echo"]),
        ("envelope", &["run", "--envelope", p, "stderr-then-panic", "10"]),
        ("help", &["run", p, "--help"]),
        ("help", &["run", p, "write-text", "--help"]),
        ("help", &["run", p, "args", "--help"]),
        ("help", &["run", p, "--brief"]),
        ("help", &["run", p, "--version"]),
        ("validate", &["validate", p, "write-text"]),
        ("validate", &["validate", "--guard", "off", p, "remove", &file]),
        ("plan", &["plan", "--guard", "off", p, "write-text", &file, &other]),
        ("plan", &["plan", "--guard", "off", p, "remove", &file]),
        ("apply", &["apply", p, "last"]),
        ("ledger_show", &["ledger", "show", p, "@2"]),
        ("ledger_show", &["ledger", "show", p, "@6"]),
        ("ledger_show", &["ledger", "show", p, "@10"]),
        ("ledger_list", &["ledger", "list", p]),
        ("ledger_export", &["ledger", "export", p]),
        ("ledger_list", &["ledger", "list", "--changes", p]),
        ("state_ls", &["state", "ls", p, "state"]),
        ("state_cat", &["state", "cat", p, &file]),
        ("state_diff", &["state", "diff", p, "@1", "@6"]),
        ("undo", &["undo", "--dry-run", p]),
        ("replay", &["replay", p, "@2"]),
        ("verify", &["verify", "--all", p]),
        ("check", &["check", p]),
        ("catalog", &["catalog", packages]),
        ("find", &["find", "--in", packages, "obey"]),
        ("show", &["show", p, "--skill", "probe-usage"]),
        ("meta", &["meta", p]),
        ("meta", &["meta", p, "args"]),
        ("meta", &["meta", p, "argz"]),
        ("examples", &["examples", p]),
        ("explain-error", &["explain-error", "ASKED_FOR", p]),
        ("trust", &["trust", "show", p]),
        ("schedule", &["schedule", p]),
        ("install", &["install", p]),
        ("catalog", &["catalog"]),
        ("find", &["find", "obey"]),
        ("instance", &["instance", "list"]),
        ("doctor", &["doctor"]),
        ("issue", &["issue", "create", "--type", "bug", "--package", "probe", "--message", &issue]),
        ("issue", &["issue", "list"]),
        ("man", &["completions", "man"]),
        ("completions", &["completions", "bash"]),
    ];
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    calls.iter().map(|(answer, words)| (*answer, owned(words))).collect()
}

/// The texts in a document that hold sentences of the package's, each with the field where it stands.
fn walk(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if !found_in(text).is_empty() => found.push((place.to_owned(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| walk(item, &format!("{place}[]"), found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_theirs = !found_in(name).is_empty();
                if is_theirs {
                    found.push((format!("{place}{{}}"), name.clone()));
                }
                let name = if is_theirs { "*" } else { name };
                walk(value, &if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }, found);
            }
        }
        _ => {}
    }
}

/// Whether all sentences in a text stand between quotes of this kind, whatever they hold: as JSON and our messages write them, or a shell.
fn are_quoted(text: &str, quote: char) -> bool {
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            // In single quotes a shell takes it as it is.
            '\\' => escaped = quote == '"' || !inside,
            '@' if !inside => return false,
            c => inside ^= c == quote,
        }
    }
    true
}

/// What the program says to a call, and of which answer each part is.
fn outputs(machine: &Machine, words: &[String], answer: &'static str) -> [(&'static str, String); 2] {
    let ran = machine.run(words);
    [(answer, ran.stdout), ("error", ran.stderr)]
}

/// The table for programs, and what of it was seen.
struct Places {
    rows: Vec<Vec<&'static str>>,
    seen: BTreeSet<(usize, String)>,
    /// What stands where the table has nothing of the kind.
    wrong: BTreeSet<String>,
}

impl Places {
    /// A text was found in an answer; whether it may be there.
    fn holds(&mut self, answer: &str, place: &str, text: &str) {
        let is_it = |row: &Vec<&str>| row[0] == answer && row[1].trim_end_matches(['"', '\'']) == place;
        let Some(at) = self.rows.iter().position(is_it) else {
            self.wrong.insert(format!("{answer} {place} holds {text:?}"));
            return;
        };
        for field in found_in(text) {
            if !self.rows[at][2..].iter().any(|known| *known == field) {
                self.wrong.insert(format!("{answer} {place} holds {text:?}"));
            }
            self.seen.insert((at, field));
        }
        if let Some(quote) = self.rows[at][1].chars().last().filter(|last| ['"', '\''].contains(last))
            && !are_quoted(text, quote)
        {
            self.wrong.insert(format!("{answer} {place} is {text:?}"));
        }
    }

    fn document(&mut self, answer: &str, document: &Value) {
        let mut found = Vec::new();
        walk(document, "", &mut found);
        for (place, text) in found {
            self.holds(answer, &place, &text);
        }
    }
}

/// The rows of a table.
fn table(text: &'static str) -> Vec<Vec<&'static str>> {
    text.trim().lines().map(|row| row.split_whitespace().collect()).collect()
}

#[test]
fn programs_find_what_a_package_says_in_its_places_and_nowhere_else() {
    let machine = Machine::new();
    let folder = outspoken(&machine);
    let (package, packages) = (folder.to_str().unwrap(), folder.parent().unwrap().to_str().unwrap());
    let mut places = Places { rows: table(FOR_PROGRAMS), seen: BTreeSet::new(), wrong: BTreeSet::new() };
    for (answer, words) in calls(package, packages) {
        for (answer, text) in outputs(&machine, &words, answer) {
            let documents: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
            match documents {
                Ok(documents) => documents.iter().for_each(|document| places.document(answer, document)),
                Err(_) if found_in(&text).is_empty() => {}
                Err(_) => places.holds(answer, "-", &text),
            }
        }
        // The same is asked for people, so that both tables are about the same entries.
        machine.again_for_people();
    }
    let (file, content) = (format!("state/{}", said("file.name")), said("file.content"));
    for (answer, document) in crate::mcp::untrusted::told(&Machine::new(), package, &file, &content) {
        places.document(answer, &document);
    }
    for (element, text) in crate::serve::untrusted::told(&Machine::new(), package, &file, &content) {
        if !found_in(&text).is_empty() {
            places.holds("page", &element, &text);
        }
    }
    let Places { rows, seen, wrong } = places;
    assert!(wrong.is_empty(), "not of the table: {wrong:#?}");
    let all = rows.iter().enumerate().flat_map(|(at, row)| row[2..].iter().map(move |field| (at, (*field).to_owned())));
    let unseen: Vec<_> = all.filter(|one| !seen.contains(one)).map(|(at, field)| (&rows[at][..2], field)).collect();
    assert!(unseen.is_empty(), "of the table, but nowhere: {unseen:?}");
}

/// How far a line is indented, a dash of a list included.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}

/// Whether a line is a field of this name, goes on with one, or stands in one.
fn is_in_field(lines: &[&str], at: usize, name: &str) -> bool {
    let is_named =
        |line: &str| line.trim_start_matches([' ', '-']).strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    let mut within = usize::MAX;
    lines[..=at].iter().rev().any(|line| {
        let is_around = indent(line) < within;
        within = within.min(indent(line));
        is_around && is_named(line)
    })
}

/// Whether a line of an answer says by this mark whose words it holds.
fn is_marked(mark: &str, lines: &[&str], at: usize) -> bool {
    const CHANGES: [&str; 6] = ["added ", "modified ", "removed ", "touched ", "  +", "  -"];
    let line = lines[at];
    match mark.split_once(':').unwrap_or((mark, "")) {
        ("whole", _) => true,
        ("heading", _) => lines[..=at].iter().any(|line| line.ends_with(", in its own words")),
        ("column", heading) => {
            let column = lines[0].find(heading);
            column.is_some_and(|column| line.chars().take(lines[0][..column].chars().count()).all(|c| c != '@'))
        }
        ("field", name) => is_in_field(lines, at, name),
        ("below", heading) => {
            let above = lines[..at].iter().rev().find(|above| !above.starts_with("  "));
            line.starts_with("  ") && above.is_some_and(|above| *above == heading.replace('_', " "))
        }
        ("change", _) => CHANGES.iter().any(|change| line.starts_with(change) || line.trim_start().starts_with(change)),
        ("double-quotes", _) => are_quoted(line, '"'),
        ("single-quotes", _) => are_quoted(line, '\''),
        _ => panic!("no mark is called {mark}"),
    }
}

#[test]
fn people_are_told_whose_words_they_read() {
    let machine = Machine::new();
    let package = outspoken(&machine);
    let rows = table(FOR_PEOPLE);
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (answer, words) in calls(package.to_str().unwrap(), package.parent().unwrap().to_str().unwrap()) {
        machine.run(&words);
        let words = [vec!["--human".to_owned()], words].concat();
        for (answer, text) in outputs(&machine, &words, answer) {
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| !found_in(line).is_empty()) {
                let row = rows.iter().find(|row| row[0] == answer);
                let row = row.unwrap_or_else(|| panic!("{words:?}: {answer} says {line:?}"));
                let marks: Vec<&str> = row[1..].iter().copied().filter(|mark| is_marked(mark, &lines, at)).collect();
                assert!(!marks.is_empty(), "{words:?}: {answer} says {line:?}, unmarked, in {text}");
                seen.extend(marks.into_iter().map(|mark| (row[0], mark)));
            }
        }
    }
    let all = rows.iter().flat_map(|row| row[1..].iter().map(|mark| (row[0], *mark)));
    let unseen: Vec<_> = all.filter(|mark| !seen.contains(mark)).collect();
    assert!(unseen.is_empty(), "of the table, but nowhere: {unseen:?}");
}

#[test]
fn the_sentence_gets_out_of_quotes_that_do_not_hold_it() {
    let said = said("some.text");
    for quote in ['"', '\''] {
        assert!(!are_quoted(&format!("{quote}{said}{quote}"), quote), "{said}");
    }
    assert!(are_quoted(&format!("a {said:?} b {said:?}"), '"'));
    assert!(are_quoted(&format!("a '{}'", said.replace('\'', r"'\''")), '\''));
    let lines = ["a:", "  b: x", "      Obey @c.d@", "e: Obey"];
    assert!(is_in_field(&lines, 2, "b") && is_in_field(&lines, 2, "a") && !is_in_field(&lines, 3, "a"));
}
