//! What the guard refuses by default is what `host/docs/limits.md` says, for a package that declares nothing about its arguments, and nobody but the
//! operator switches it off.

use crate::support::{Machine, package, probe, todo};
use hutch_model::guard::forms;

/// A package of which nothing is known but that it starts.
fn undescribed(machine: &Machine) -> String {
    let package = package::copy(machine, "undescribed");
    std::fs::remove_dir_all(package.join("schemas")).unwrap();
    package.display().to_string()
}

#[test]
fn by_default_every_form_of_the_readme_is_refused() {
    let machine = Machine::new();
    let package = undescribed(&machine);
    let mut cases: Vec<(String, &str)> = Vec::new();
    cases.extend(forms::TOKENS.iter().map(|token| (token.example(), "G2")));
    cases.extend(forms::SECRET_NAMES.iter().map(|name| (format!("--{name}=hunter2"), "G2")));
    cases.extend(forms::SECRET_NAME_ENDINGS.iter().map(|name| (format!("MY_{}=hunter2", name.to_uppercase()), "G2")));
    cases.push(("postgres://user:pass@host/db".to_owned(), "G2"));
    cases.push(("postgres://user:p/w@host".to_owned(), "G2"));
    cases.push(("Basic dXNlcjpodW50ZXIy".to_owned(), "G2"));
    cases.push(("--set=env=GITHUB_TOKEN=hunter2".to_owned(), "G2"));
    cases.push((r#"{"password":"hunter2"}"#.to_owned(), "G2"));
    cases.push(("password: hunter2".to_owned(), "G2"));
    cases.push(("cat /etc/passwd".to_owned(), "G3"));
    cases.push(("-----BEGIN RSA PRIVATE KEY-----".to_owned(), "G2"));
    cases.extend(forms::FILE_ENDINGS.iter().map(|ending| (format!("conf/x{ending}"), "G3")));
    cases.extend(forms::FILES.iter().map(|file| (format!("/home/me/{file}"), "G3")));
    cases.extend(forms::FOLDERS.iter().map(|folder| (format!("/home/me/{folder}/config"), "G3")));
    cases.extend(forms::PATHS.iter().map(|path| (path.replace('*', "self"), "G3")));
    cases.extend(forms::SHELL_SYNTAX.iter().map(|syntax| (format!("a{syntax} rm -rf /"), "G8")));
    cases.extend(["$(id)", "`id`", "a;rm -rf /"].map(|text| (text.to_owned(), "G8")));
    cases.extend(["../x", "a/../../b", "%2e%2e/x", "..", "a\u{7}", "a\nb"].map(|text| (text.to_owned(), "S4")));
    assert!(cases.len() > 90, "{}", cases.len());
    let before = machine.run(["run", &package, "args", "plain"]).answer();
    assert_eq!(before["args"][0], "plain");
    for (argument, rule) in cases {
        let ran = machine.run(["validate", &package, "args", &argument]);
        let fault = ran.fault("ARGUMENT_REFUSED", 2);
        assert_eq!(fault.details["rule"], rule, "{argument}");
        let secrets = ["hunter2", "x1x1x1", "X1X1X1", "a1a1a1"];
        assert!(!secrets.iter().any(|it| ran.stderr.contains(it)), "it is repeated: {ran:?}");
    }
    machine.run(["run", &package, "args", "$(id)"]).fault("ARGUMENT_REFUSED", 2);
    machine.run(["run", &package, "login", "--password", "hunter2"]).fault("ARGUMENT_REFUSED", 2);
}

#[test]
fn only_the_operator_switches_it_off() {
    let machine = Machine::new();
    let off = package::with_manifest(&machine, "off", "    state:\n", "    guard: off\n    state:\n");
    let fault = machine.run(["run", off.to_str().unwrap(), "args", "$(id)"]).fault("PACKAGE_INVALID", 2);
    assert!(fault.message.contains("guard: expected one of strict, text"), "{fault:?}");
    machine.run(["install", "--yes", off.to_str().unwrap()]).fault("PACKAGE_INVALID", 2);
    assert_eq!(machine.run(["run", "--guard", "off", &probe(), "args", "$(id)"]).answer()["args"][0], "$(id)");
    // A package may be lenient with prose, and with nothing that looks like a secret; the operator may insist.
    let text = package::with_manifest(&machine, "text", "    state:\n", "    guard: text\n    state:\n");
    let lenient = |options: &[&str], argument: &str| {
        // Of what no command declares nobody knows whether it is prose.
        let call = ["--instance", "text", "--unchecked", text.to_str().unwrap(), "nosuch", argument];
        machine.run([&["run"], options, &call].concat())
    };
    lenient(&[], "a && b").guest_failure(2);
    lenient(&["--guard", "strict"], "a && b").fault("ARGUMENT_REFUSED", 2);
    lenient(&[], "npm_0123456789abcdefghij").fault("ARGUMENT_REFUSED", 2);
    // What is declared to be prose is none of a shell's business under any.
    assert_eq!(machine.run(["run", "--guard", "strict", &todo(), "add", "milk && eggs; $(x)"]).status, 0);
    assert_eq!(machine.run(["run", &todo(), "add", "see ../docs"]).status, 0);
    machine.run(["run", "--guard", "strict", &todo(), "add", "see ../docs"]).fault("ARGUMENT_REFUSED", 2);
}
