//! A host of an embedder's, which answers requests of the form of `hutch.h`: one a line on standard input, and on standard output
//! `{"status": N, "json": …, "out": HEX, "err": HEX}` for each. The first argument is a home with installed packages. Code is compiled here;
//! `--into FOLDER` keeps it there too, `--from FOLDER` compiles nothing and runs what is kept there, and `--given FILE…` what these files
//! hold. It uses this crate alone.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program of this repository's developers")]

use hutch::installed::Installed;
use hutch::package::{Package, PackageBounds};
use hutch::{
    Answer, ArtifactCache, Backend, Call, Compile, Contract, Ending, EntryName, Grants, Host, Instant, Limit, Sandbox,
    SealKey, Seed, Slug,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    command: String,
    package: String,
    instance: String,
    at: Instant,
    #[serde(default)]
    arguments: Vec<String>,
    plan: Option<String>,
    #[serde(default)]
    confirmed: bool,
    seed: Option<Seed>,
    now: Option<Instant>,
    #[serde(default)]
    limits: BTreeMap<String, u64>,
    contract: Option<Contract>,
    #[serde(default)]
    unchecked: bool,
    #[serde(default)]
    stdin: String,
    wall_time_us: Option<u64>,
    /// Of entries.
    limit: Option<usize>,
    /// Entries as they are stored.
    #[serde(default)]
    bytes: bool,
}

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, code @ ..] = &arguments[..] else { return Err("expected a home".into()) };
    let home = PathBuf::from(home);
    let host = Host::new(home.clone(), sandbox(code)?);
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let slug = Slug::parse(&request.package)?;
        if !packages.contains_key(slug.as_str()) {
            let installed = Installed::of(&home);
            let package = installed.open(&installed.pin(&slug)?, PackageBounds::default(), None)?;
            packages.insert(slug.to_string(), package);
        }
        let package = packages.get(slug.as_str()).ok_or("it was opened")?;
        println!("{}", answered(&host, package, request)?);
    }
    Ok(())
}

/// What finds code as these arguments say.
fn sandbox(code: &[String]) -> Result<Sandbox, Failed> {
    const KEY: SealKey = SealKey::new([7; SealKey::BYTES]);
    let kept = |compile, folder: &str| {
        let cache = ArtifactCache::open(Path::new(folder), || Some(KEY)).ok_or("expected a private folder")?;
        Ok(Sandbox::new(compile, Some(cache)))
    };
    let code: Vec<&str> = code.iter().map(String::as_str).collect();
    match code[..] {
        [] => Ok(Sandbox::default()),
        ["--into", folder] => kept(Compile::Here, folder),
        // Asked to compile, this fails.
        ["--from", folder] => kept(Compile::Child { program: PathBuf::new(), arguments: Vec::new(), key: KEY }, folder),
        ["--given", ref files @ ..] => {
            let sandbox = Sandbox::of_artifacts(Backend::Native);
            for file in files {
                #[allow(unsafe_code, reason = "what comes of code that was given is compared")]
                // SAFETY: this example's compiler made it.
                let given = unsafe { sandbox.give(std::fs::read(file)?) };
                given?;
            }
            Ok(sandbox)
        }
        _ => Err("expected --into, --from or --given".into()),
    }
}

fn answered(host: &Host, package: &Package, request: Request) -> Result<Value, Failed> {
    let (slug, instance) = (package.manifest().slug(), request.instance.parse()?);
    let failed = |failure: hutch::Failure| {
        let report = failure.report();
        json!({ "status": report.code.exit_status(), "json": report, "out": "", "err": "" })
    };
    let done = |result: Value| json!({ "status": 0, "json": { "ok": true, "result": result }, "out": "", "err": "" });
    match request.command.as_str() {
        "undo" => {
            let undone = host
                .open_existing(slug, &instance, request.at)
                .and_then(|session| session.undo_last(1, &Default::default()));
            Ok(undone.map_or_else(failed, |moved| done(json!({ "entry": { "hash": moved.entry.hash } }))))
        }
        "apply" => {
            let plan: EntryName = request.plan.ok_or("expected a plan")?.parse()?;
            let session = host.open(package, &instance, request.at)?.with_wall_time_us(request.wall_time_us);
            let mut grants = Grants::default();
            grants.confirmed = request.confirmed;
            let answer = host.apply(package, &session, &plan, &grants);
            Ok(answer.map_or_else(failed, |answer| told(&answer)))
        }
        "ledger list" if request.bytes => {
            let session = host.open_existing(slug, &instance, request.at)?;
            let mut items = Vec::new();
            for sealed in session.entries(1).take(request.limit.unwrap_or(100)) {
                let sealed = sealed?;
                let bytes = String::from_utf8_lossy(&sealed.bytes);
                items.push(json!({ "sequence": sealed.sequence, "hash": sealed.hash, "bytes": bytes }));
            }
            Ok(done(json!({ "items": items })))
        }
        command => {
            let plans = command == "plan";
            let call = call(request)?.in_instance(instance);
            let answer = if plans { host.plan(package, &call) } else { host.run(package, &call) };
            Ok(answer.map_or_else(failed, |answer| told(&answer)))
        }
    }
}

fn call(request: Request) -> Result<Call, Failed> {
    let seed = request.seed.ok_or("expected a seed")?;
    let mut call = Call::new(request.arguments, request.at, seed).with_stdin(request.stdin);
    call.clock_start = request.now.unwrap_or(request.at);
    (call.contract, call.unchecked, call.confirmed) = (request.contract, request.unchecked, request.confirmed);
    call.wall_time_us = request.wall_time_us;
    for (name, value) in request.limits {
        call = call.with_limit(Limit::from_name(&name).ok_or("expected a limit")?, value);
    }
    Ok(call)
}

fn told(answer: &Answer) -> Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let ending = if matches!(answer.outcome.ending, Ending::Exited { .. }) { "exited" } else { "ended" };
    let result = json!({ "ending": ending, "error": answer.bad_end() });
    json!({
        "status": answer.status(),
        "json": { "ok": answer.status() == 0, "result": result },
        "out": hex(&answer.outcome.stdout),
        "err": hex(&answer.outcome.stderr),
    })
}
