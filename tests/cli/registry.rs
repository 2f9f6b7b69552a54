//! Packages in repositories and signatures, through the program: what is kept, and what must not be there after a failure. Real
//! registries and others' programs are in `tests/registry/run`.

use crate::support::{Machine, Ran, todo};
use std::collections::BTreeSet;
use std::process::Stdio;

/// A machine with the to-do package in a folder that is a repository.
fn stocked() -> Machine {
    let machine = Machine::new();
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    machine
}

fn is_there(machine: &Machine, name: &str) -> bool {
    machine.path(name).symlink_metadata().is_ok()
}

#[test]
fn what_is_installed_from_a_repository_is_pinned_and_updated_from_there() {
    let machine = stocked();
    let installed = machine.run(["install", "oci-layout:shop:0.2.0"]).result("install");
    let packed = machine.run(["pack", &todo(), "--output", "todo.tar"]).result("pack");
    assert_eq!(installed["digest"], packed["digest"]);
    let source = installed["source"].as_str().unwrap();
    assert!(source.starts_with("oci-layout:/") && source.contains("/shop:0.2.0@sha256:"), "{source}");
    machine.guest(&["todo", "add", "milk"]).answer();
    // The tag, and not the digest, says what there is now.
    assert_eq!(machine.run(["install", "todo"]).result("install")["digest"], packed["digest"]);
    assert!(machine.guest(&["todo", "list"]).answer().to_string().contains("milk"));
}

#[test]
fn a_preview_of_a_push_asks_nobody_and_keeps_nothing() {
    let machine = Machine::new();
    let one = machine.run(["push", &todo(), "oci://nowhere.invalid/todo", "--dry-run"]).document()["result"].clone();
    let other = machine.run(["push", &todo(), "oci-layout:shop", "--dry-run"]).document()["result"].clone();
    assert_eq!(one["manifest"], other["manifest"]);
    assert!(!is_there(&machine, "shop"));
}

#[test]
fn a_tag_that_names_another_package_is_overwritten_only_if_that_is_said() {
    let machine = stocked();
    let other = crate::support::package::copy(&machine, "package");
    let other = other.to_str().unwrap();
    machine.run(["push", other, "oci-layout:shop:0.2.0"]).fault("ALREADY_EXISTS", 30);
    assert_eq!(machine.run(["show", "oci-layout:shop:0.2.0"]).result("show")["slug"], "todo");
    machine.run(["push", other, "oci-layout:shop:0.2.0", "--overwrite"]).result("push");
    assert_eq!(machine.run(["show", "oci-layout:shop:0.2.0"]).result("show")["slug"], "probe");
}

#[test]
fn nothing_is_left_of_what_was_not_what_it_was_announced_to_be() {
    let machine = stocked();
    let blobs = machine.path("shop/blobs/sha256");
    let layer = std::fs::read_dir(&blobs).unwrap().map(|blob| blob.unwrap().path());
    let layer = layer.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = std::fs::read(&layer).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&layer, bytes).unwrap();
    machine.run(["pack", "oci-layout:shop:0.2.0", "--output", "todo.tar"]).fault("ARTIFACT_INVALID", 46);
    machine.run(["install", "oci-layout:shop:0.2.0"]).fault("ARTIFACT_INVALID", 46);
    assert!(!is_there(&machine, "todo.tar"));
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
}

#[test]
fn what_was_told_to_be_pushed_is_there_however_many_push_at_once() {
    let machine = stocked();
    machine.run(["pack", "oci-layout:shop:0.2.0", "--output", "todo.tar"]).result("pack");
    let start = |words: &[&str]| {
        let mut hutch = machine.hutch(words.iter().copied());
        hutch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let keys: Vec<String> = (0..4).map(|at| format!("key{at}")).collect();
    for key in &keys {
        machine.run(["sign", "--new-key", key]).result("sign");
    }
    let tags: Vec<String> = (0..8).map(|at| format!("oci-layout:shop:t{at}")).collect();
    let pushing = tags.iter().map(|tag| start(&["push", "--wait", "600s", "todo.tar", tag]));
    let signing = keys.iter().map(|key| start(&["sign", "--wait", "600s", "oci-layout:shop:0.2.0", "--key", key]));
    let running: Vec<_> = pushing.chain(signing).collect();
    for child in running {
        let ran = Ran::from_output(child.wait_with_output().unwrap());
        assert_eq!(ran.document()["result"]["changed"], true);
    }
    let index: serde_json::Value =
        serde_json::from_slice(&std::fs::read(machine.path("shop/index.json")).unwrap()).unwrap();
    let entries = index["manifests"].as_array().unwrap().iter();
    let named = entries.filter_map(|entry| entry["annotations"]["org.opencontainers.image.ref.name"].as_str());
    let found: BTreeSet<&str> = named.filter(|name| !name.starts_with("sha256-")).collect();
    let told: BTreeSet<&str> = tags.iter().map(|tag| &tag["oci-layout:shop:".len()..]).chain(["0.2.0"]).collect();
    assert_eq!(found, told);
    let signatures = machine.run(["check", "oci-layout:shop:0.2.0"]).result("check");
    assert_eq!(signatures["signatures"].as_array().unwrap().len(), keys.len(), "{signatures}");
}

#[test]
fn a_part_that_is_lost_is_damage_and_not_an_unknown_name() {
    let machine = stocked();
    let index = std::fs::read_to_string(machine.path("shop/index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let digest = index["manifests"][0]["digest"].as_str().unwrap();
    std::fs::remove_file(machine.path("shop/blobs").join(digest.replace(':', "/"))).unwrap();
    let fault = machine.run(["show", "oci-layout:shop:0.2.0"]).fault("ARTIFACT_INVALID", 46);
    assert!(format!("{fault:?}").contains(digest), "{fault:?}");
    machine.run(["show", "oci-layout:shop:0.3.0"]).fault("PACKAGE_NOT_FOUND", 20);
}

/// A registry that gives every call the same answer, which it has from then on as long as the test runs.
fn answering(answer: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = std::io::BufReader::new(stream.try_clone().unwrap());
            let mut line = String::new();
            while std::io::BufRead::read_line(&mut head, &mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        }
    });
    host
}

#[test]
fn who_is_told_to_wait_longer_than_that_is_told_so() {
    let host = answering("HTTP/1.1 429 x\r\nretry-after: 3600\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let machine = Machine::new();
    let fault = machine.run(["show", &format!("oci://{host}/acme/todo:1")]).fault("REGISTRY_FAILED", 50);
    assert!(fault.suggestion.contains("--wait 3601s"), "{fault:?}");
}

#[cfg(unix)]
#[test]
fn a_credential_helper_that_answers_and_stays_is_ended_with_what_it_started() {
    let host = answering(
        "HTTP/1.1 401 x\r\nwww-authenticate: Basic realm=x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    );
    let machine = Machine::new();
    machine.write("docker/config.json", r#"{"credsStore":"stays"}"#);
    let fifo = machine.path("told");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // Until the pipe is closed by both, or by being ended, it is not read to its end.
    let stays = "#!/bin/sh\ncat > /dev/null\nexec 3> told\n(sleep 20; echo stayed >&3) > /dev/null 2>&1 &\n\
        echo '{\"Username\":\"a\",\"Secret\":\"b\"}'\nexec > /dev/null\nsleep 20\n";
    machine.write_program("docker-credential-stays", stays);
    let reading = fifo.clone();
    let told = std::thread::spawn(move || std::fs::read_to_string(reading).unwrap());
    let path = format!("{}:/usr/bin:/bin", machine.path("").display());
    let mut hutch = machine.hutch(["show", "--wait", "1s", &format!("oci://{host}/acme/todo:1")]);
    let ran = Ran::of(hutch.env("DOCKER_CONFIG", machine.path("docker")).env("PATH", path));
    let fault = ran.fault("AUTHENTICATION_FAILED", 10);
    assert!(fault.message.contains("did not answer and end in time"), "{fault:?}");
    // For the reader, should it have been ended before it came to the pipe.
    drop(std::fs::File::options().read(true).write(true).open(fifo).unwrap());
    assert_eq!(told.join().unwrap(), "", "what it started went on");
}

#[cfg(unix)]
#[test]
fn a_credential_helper_is_read_no_further_than_so_long() {
    let host = answering(
        "HTTP/1.1 401 x\r\nwww-authenticate: Basic realm=x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    );
    let machine = Machine::new();
    machine.write("docker/config.json", r#"{"credsStore":"talks"}"#);
    let path = format!("{}:/usr/bin:/bin", machine.path("").display());
    // Its password is not the beginning of what it said; up to its bound it is believed, and refused by who asked for it.
    for (more, said) in [(65_000, "401"), (66_000, "docker-credential-talks")] {
        let talks = format!(
            "#!/bin/sh\ncat > /dev/null\nprintf '{{\"Username\":\"a\",\"Secret\":\"'\nhead -c {more} /dev/zero | tr '\\0' b\nprintf '\"}}'\n"
        );
        machine.write_program("docker-credential-talks", &talks);
        let mut hutch = machine.hutch(["show", &format!("oci://{host}/acme/todo:1")]);
        let ran = Ran::of(hutch.env("DOCKER_CONFIG", machine.path("docker")).env("PATH", &path));
        let fault = ran.fault("AUTHENTICATION_FAILED", 10);
        assert!(fault.message.contains(said), "{more}: {fault:?}");
    }
}

#[test]
fn a_run_takes_no_reference_and_says_what_to_do() {
    let machine = stocked();
    for command in ["run", "plan", "validate"] {
        let fault = machine.run([command, "oci-layout:shop:0.2.0"]).fault("PACKAGE_NOT_FOUND", 20);
        assert!(format!("{fault:?}").contains("install oci-layout:shop:0.2.0"), "{command}: {fault:?}");
    }
}

#[test]
fn a_signature_goes_with_the_package_and_must_be_there_if_a_key_is_named() {
    let machine = stocked();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["sign", "--new-key", "others"]).result("sign");
    machine.run(["install", "oci-layout:shop:0.2.0", "--key", "mine.pub"]).fault("SIGNATURE_REQUIRED", 30);
    assert_eq!(machine.run(["sign", "oci-layout:shop:0.2.0", "--key", "mine"]).result("sign")["changed"], true);
    assert_eq!(machine.run(["sign", "oci-layout:shop:0.2.0", "--key", "mine"]).result("sign")["changed"], false);
    machine.run(["install", "oci-layout:shop:0.2.0", "--key", "others.pub"]).fault("SIGNATURE_REQUIRED", 30);
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0, "installed all the same");
    machine.run(["pack", "oci-layout:shop:0.2.0", "--output", "todo.tar"]).result("pack");
    let installed = machine.run(["install", "todo.tar", "--key", "mine.pub"]).result("install");
    assert_eq!(machine.run(["catalog"]).result("catalog")["items"][0]["signer"], installed["signer"]);
    // Without its signature it is not by the signer any more.
    std::fs::remove_file(machine.path("todo.tar.sigstore.json")).unwrap();
    machine.run(["install", "todo"]).fault("SIGNER_CHANGED", 30);
    machine.run(["install", "todo", "--key", "others.pub"]).fault("SIGNATURE_REQUIRED", 30);
    let dropped = machine.run(["install", "todo", "--allow-signer-change"]).result("install");
    assert!(dropped["signer"].is_null());
}

#[test]
fn a_folder_is_signed_beside_it() {
    let machine = Machine::new();
    let folder = crate::support::package::copy(&machine, "probe").to_str().unwrap().to_owned();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["install", &folder, "--key", "mine.pub"]).fault("SIGNATURE_REQUIRED", 30);
    for changed in [true, false] {
        assert_eq!(machine.run(["sign", &folder, "--key", "mine"]).result("sign")["changed"], changed);
    }
    let found = machine.run(["check", &folder, "--key", "mine.pub"]).result("check");
    assert_eq!(found["signatures"][0]["verdict"], "good", "{found}");
    // Its packed file is the same package.
    machine.run(["pack", &folder]).result("pack");
    std::fs::copy(machine.path("probe.sigstore.json"), machine.path("probe-0.1.0.tar.sigstore.json")).unwrap();
    let packed = machine.run(["check", "probe-0.1.0.tar", "--key", "mine.pub"]).result("check");
    assert_eq!(packed["signatures"], found["signatures"]);
    // Something else of the same name and version does not.
    std::fs::write(machine.path("probe/README.md"), "changed").unwrap();
    machine.run(["check", &folder, "--key", "mine.pub"]).fault("SIGNATURE_INVALID", 30);
    machine.run(["install", &folder, "--key", "mine.pub"]).fault("SIGNATURE_INVALID", 30);
}

#[test]
fn a_file_of_secrets_is_no_key_and_no_authority() {
    let machine = stocked();
    machine.write(".env", "TOKEN=1");
    for (flag, file) in [("--ca", ".env"), ("--key", ".env"), ("--key", "certs/id_rsa"), ("--ca", "keys.p12")] {
        machine.run(["install", flag, file, "oci-layout:shop:0.2.0"]).fault("ARGUMENT_REFUSED", 2);
    }
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
}

#[test]
fn a_broken_signature_is_never_taken_for_none() {
    let machine = stocked();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["pack", "oci-layout:shop:0.2.0", "--output", "todo.tar"]).result("pack");
    for broken in ["", "{}", "not json"] {
        machine.write("todo.tar.sigstore.json", broken);
        for line in
            [&["install", "todo.tar"][..], &["install", "todo.tar", "--key", "mine.pub"], &["check", "todo.tar"]]
        {
            machine.run(line.iter().copied()).fault("SIGNATURE_INVALID", 30);
        }
    }
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
}

#[test]
fn what_no_registry_can_hold_is_installed_all_the_same() {
    let machine = Machine::new();
    let large = crate::support::package::copy(&machine, "package");
    std::fs::write(large.join("large.bin"), vec![0; 33 << 20]).unwrap();
    let large = large.to_str().unwrap();
    machine.run(["push", large, "oci-layout:shop"]).fault("ARTIFACT_INVALID", 46);
    assert!(!is_there(&machine, "shop"), "something was pushed");
    machine.run(["install", "--yes", large]).result("install");
}

#[test]
fn a_key_is_its_owners_alone_and_is_not_overwritten() {
    let machine = Machine::new();
    machine.run(["sign", "--new-key", "mine.pem"]).result("sign");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = machine.path("mine.pem").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let before = std::fs::read(machine.path("mine.pem")).unwrap();
    machine.run(["sign", "--new-key", "mine.pem"]).fault("ALREADY_EXISTS", 30);
    assert_eq!(std::fs::read(machine.path("mine.pem")).unwrap(), before);
    machine.run(["sign", "--new-key", "other", "--dry-run"]).document();
    assert!(!is_there(&machine, "other") && !is_there(&machine, "other.pub"));
}
