//! Where the words of a package may stand. Every text of a package, all that its guest says, and the name and the content of a file that it
//! keeps are a sentence that would be taken for an order; whatever answers with them is asked for. [`FOR_PROGRAMS`] and [`FOR_PEOPLE`] say
//! where such a sentence may stand, and how it is told from the host's own words there. It stands nowhere else, and in each of those places.
//! For programs a text of the package's is told by an object around it, which says `by: "package"`.

mod outspoken;

use crate::support::Machine;
use outspoken::{calls, outspoken, said};
use serde_json::{Value, json};
use std::collections::BTreeSet;

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
help           package_rules[].content                         agent.rule
help           package_rules[].description                     rule.description
help           parameters[].description                        parameter.description
help           skills[].description                            skill.description
help           summary                                         contract.summary
issue          result.items[].message                          issue.message
issue          result.message                                  issue.message
ledger_bytes   result.items[].bytes"                           file.content file.name
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
mcp_describe   commands[].description                          command.description
mcp_describe   description                                     command.description
mcp_describe   errors[].description                            error.description
mcp_describe   errors[].fix                                    error.fix
mcp_describe   examples[].args[]                               example.argument
mcp_describe   examples[].description                          example.description
mcp_describe   inputSchema.properties.arguments.description    parameter.description
mcp_describe   inputSchema.properties.mode.default             parameter.default
mcp_describe   inputSchema.properties.mode.description         parameter.description
mcp_describe   inputSchema.properties.mode.enum[]              parameter.choice parameter.default
mcp_describe   outputSchema.description                        schema.description
mcp_describe   outputSchema.title                              schema.title
mcp_find       items[].description                             command.description
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
state_folder   result.items[].path                             file.name
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
ledger_bytes   double-quotes
ledger_list    single-quotes
ledger_show    field:output field:argv field:stdout field:stderr field:changes
meta           column:DESCRIPTION field:description field:choices field:default field:summary
plan           field:path change
replay         field:output field:stdout
run            whole
show           heading
state_cat      whole
state_diff     change
state_folder   column:PATH
undo           change
";

/// What a guest or a person said, and no package: such texts stand in fields that are theirs by name, as `output` and `argv`.
const OTHERS: [&str; 3] = ["file", "guest", "issue"];

/// Fields in which the host says what to do, wherever they stand: a package's own rules have another name.
const OWN: [&str; 6] = ["fixes", "issue", "more", "next", "rules", "suggestion"];

/// A text of a package that neither quotes nor an object mark as a whole: in a question for a person it is quoted, as what the package says.
const QUESTION: (&str, &str) = ("error", "details.question");

/// Commands that are not asked, and what they would answer with.
const NOT_ASKED: &str = "
certify           asked below, about a program
dev               in each round what check and run answer
init              files that it makes itself
instance_import   names and digests
issue_close       names
issue_show        what issue list does
issue_transition  names
map               a line for each run
mcp               asked by crate::mcp::untrusted
prove             a proof, which goes into a file
push              names and digests
restore           names and digests
serve             asked by crate::serve::untrusted
sign              names and digests
trust_add         rules of the user's
trust_remove      rules of the user's
";

/// What the probe's panic says: no argument changes it.
const PANIC: &str = "the probe was asked to panic at the end";

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

/// A text that holds sentences of the package's: the field where it stands, the text, and whether an object around it says whose it is.
type Found = (String, String, bool);

/// The texts of this kind in a document.
fn walk(value: &Value, (place, is_marked): (&str, bool), found: &mut Vec<Found>) {
    match value {
        Value::String(text) if !found_in(text).is_empty() => found.push((place.to_owned(), text.clone(), is_marked)),
        Value::Array(items) => items.iter().for_each(|item| walk(item, (&format!("{place}[]"), is_marked), found)),
        Value::Object(fields) => {
            let is_marked = is_marked || value["by"] == "package" || value["_meta"]["hutch/by"] == "package";
            for (name, value) in fields {
                let is_theirs = !found_in(name).is_empty();
                if is_theirs {
                    found.push((format!("{place}{{}}"), name.clone(), is_marked));
                }
                let name = if is_theirs { "*" } else { name };
                let place = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
                walk(value, (&place, is_marked), found);
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
    /// A text was found in an answer; whether it may be there, and is told from the host's.
    fn holds(&mut self, answer: &str, place: &str, text: &str, is_marked: bool) {
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
        if let Some(quote) = self.rows[at][1].chars().last().filter(|last| ['"', '\''].contains(last)) {
            if !are_quoted(text, quote) {
                self.wrong.insert(format!("{answer} {place} is {text:?}"));
            }
        } else if found_in(text).iter().any(|field| OTHERS.iter().all(|other| !field.starts_with(other))) {
            if !is_marked && (answer, place) != QUESTION {
                self.wrong.insert(format!("{answer} {place} does not say whose words these are: {text:?}"));
            }
            if place.split(['.', '[']).any(|key| OWN.contains(&key)) {
                self.wrong.insert(format!("{answer} {place} is the host's: {text:?}"));
            }
        }
    }

    fn document(&mut self, answer: &str, document: &Value) {
        let mut found = Vec::new();
        walk(document, ("", false), &mut found);
        for (place, text, is_marked) in found {
            self.holds(answer, &place, &text, is_marked);
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
                Err(_) => places.holds(answer, "-", &text, false),
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
            // People read it.
            places.holds("page", &element, &text, true);
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

/// Every text of a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// A program says such sentences wherever it says anything, each with a line behind it that looks like the first one of a certificate.
#[test]
fn what_a_program_says_is_quoted_in_its_certificate() {
    const FORGED: &str = "notes: level agent-native";
    const FIELDS: [&str; 6] =
        ["command.name", "error.code", "help.version", "parameter.name", "printed.text", "printed.version"];
    let machine = Machine::new();
    let words = |field: &str| format!("{}\n{FORGED}\u{1b}\u{200b}", said(field));
    let parameter = json!({"name": words("parameter.name"), "position": 0, "required": true});
    let examples = json!([{"args": ["show", words("example.argument")]}]);
    let schema = json!({"required": [words("schema.key")]});
    let help = json!({
        "help": words("help.text"), "version": words("help.version"), "errors": [{"code": words("error.code")}],
        "commands": [
            {"name": words("command.name"), "effect": "read", "parameters": [parameter]},
            {"name": "show", "effect": "read", "parameters": [parameter], "examples": examples, "output": schema},
            {"name": "print", "effect": "read"},
        ],
    });
    let error = json!({"error": true, "code": words("error.code"), "message": words("error.message")});
    machine.write("says/help", help.to_string());
    machine.write("says/version", json!({"version": words("printed.version")}).to_string());
    machine.write("says/show", json!({ words("answer.key"): words("answer.text") }).to_string());
    machine.write("says/print", words("printed.text"));
    machine.write("says/error", error.to_string());
    let script = "cd \"$1\"\ncase \"$2\" in\n--help) cat help ;;\n--version) cat version ;;\nshow) cat show ;;\nprint) cat print ;;\n\
                  *) cat error >&2; exit 3 ;;\nesac\n";
    machine.write("script", script);
    let (script, folder) = (machine.path("script").display().to_string(), machine.path("says").display().to_string());
    let call = ["certify", "--program", "/bin/sh", "--", &script, &folder];
    let fault = machine.run(call).fault("LEVEL_NOT_REACHED", 1);
    let report = &fault.details["report"];
    let told = texts(report);
    for text in &told {
        assert!(are_quoted(text, '"') && text.chars().count() < 2100, "{text:?}");
        assert!(!text.contains(['\n', '\u{1b}', '\u{200b}']), "{text:?}");
    }
    let found: BTreeSet<String> = told.iter().flat_map(|text| found_in(text)).collect();
    assert!(FIELDS.iter().all(|field| found.contains(*field)), "{found:?}");
    let seen = machine.run([&["--human"], &call[..]].concat());
    for line in seen.stderr.lines() {
        assert!(!line.contains(['\u{1b}', '\u{200b}']) && !line.trim().starts_with(FORGED), "{line:?}");
        assert!(found_in(line).is_empty() || are_quoted(line, '"'), "{line:?}");
    }
    assert!(found_in(&seen.stderr).contains("error.code"), "{seen:?}");
}

#[test]
fn every_command_is_asked_or_it_is_said_why_not() {
    let help = Machine::new().run(["--help"]).document();
    let calls = calls("PACKAGE", "PACKAGES");
    let not_asked: Vec<String> = table(NOT_ASKED).iter().map(|row| row[0].replace('_', " ")).collect();
    let all: Vec<&str> = help["commands"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    for name in &all {
        let words: Vec<&str> = name.split(' ').collect();
        let is_asked = calls.iter().any(|(_, call)| call.iter().take(words.len()).eq(words.iter()));
        assert_ne!(is_asked, not_asked.iter().any(|known| known == name), "{name}");
    }
    assert!(not_asked.iter().all(|known| all.contains(&known.as_str())), "{not_asked:?}");
}

#[test]
fn an_object_marks_what_is_in_it_and_nothing_beside_it() {
    let text = said("some.text");
    let tool = json!({"_meta": {"hutch/by": "package"}, "f": text});
    let document = json!({"a": {"b": [{"c": text}], "by": "package"}, "d": text, "e": tool});
    let mut found = Vec::new();
    walk(&document, ("", false), &mut found);
    let marks: Vec<(&str, bool)> = found.iter().map(|(place, _, is_marked)| (place.as_str(), *is_marked)).collect();
    assert_eq!(marks, [("a.b[].c", true), ("d", false), ("e.f", true)]);
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
