//! What calls to registries take from the surroundings: the credentials that docker and podman keep, the proxies of the environment,
//! certificates. Nothing else in this crate opens a way to the network, and no command that runs a guest comes here.

use crate::flags::global::Global;
use crate::machine::input;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use etcetera::BaseStrategy;
use hutch::package::{Checked, Package, PackageBounds};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_registry::{
    CredentialFile, Layout, Place, Reference, RegistryError, Remote, Repository, Sha256, Surroundings, Texts,
};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The most of a file of credentials, certificates or keys that is read.
pub(crate) const SMALL_FILE_BYTES_MAX: u64 = 1 << 20;
/// The most that a credential helper answers.
const HELPED_BYTES_MAX: u64 = 64 << 10;

/// How much of a component is sent at once: what a broken connection costs.
const PART_BYTES: usize = 8 << 20;
/// Before a part is sent again the first time, or who is busy is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// How long to wait for a registry that is busy and does not say how long it will be.
const BUSY_SECONDS: u64 = 60;

/// How a registry is reached.
#[derive(Debug, Args)]
pub(crate) struct NetworkArguments {
    /// Trust the certificates in this file too, to know the registry by
    #[arg(long, value_name = "KEYFILE")]
    ca: Option<PathBuf>,
    /// Speak to the registry without TLS; done to this machine alone if nobody says
    #[arg(long)]
    plain_http: bool,
    /// Send the registry's password to this host, because it gives its tokens
    #[arg(long, value_name = "HOST")]
    token_host: Option<String>,
}

/// The reference that a word is, if it is meant to be one.
pub(crate) fn reference(word: &Path) -> Result<Option<Reference>, Fault> {
    match word.to_str().filter(|text| Reference::is_meant(text)) {
        Some(text) => parsed(text).map(Some),
        None => Ok(None),
    }
}

/// What stands before the folder of an image layout.
pub(crate) const LAYOUT: &str = "oci-layout:";

/// A reference that means the same wherever it is read: a folder is named from the root.
pub(crate) fn settled(reference: &Reference) -> Reference {
    let place = match &reference.place {
        Place::Layout(folder) => Place::Layout(from_root(folder)),
        place => place.clone(),
    };
    Reference { place, ..reference.clone() }
}

#[expect(clippy::disallowed_methods, reason = "which folder is meant, whatever links lead to it")]
fn from_root(folder: &str) -> String {
    let path = Path::new(folder);
    let found = path.canonicalize().or_else(|_| std::path::absolute(path));
    found.ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| folder.to_owned())
}

/// The begin of folders that a rule is about, from the root.
pub(crate) fn settled_begin(pattern: &str) -> Option<String> {
    let folder = pattern.strip_prefix(LAYOUT)?.strip_suffix("/*").filter(|folder| !folder.is_empty())?;
    Some(format!("{LAYOUT}{}/*", from_root(folder).trim_end_matches('/')))
}

/// The reference that a word must be.
pub(crate) fn parsed(text: &str) -> Result<Reference, Fault> {
    text.parse().map_err(|error: hutch_registry::NotAReference| Fault::usage(error.to_string()))
}

/// A package that lies in a registry, read whole.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// What it is called there, with its digest.
    pub(crate) reference: Reference,
    /// What names its manifest.
    pub(crate) manifest: Sha256,
    /// The bytes of the packed file.
    pub(crate) packed: Vec<u8>,
    /// The signatures that are kept with it.
    pub(crate) bundles: Vec<Vec<u8>>,
}

impl Fetched {
    /// Fetches a package, and holds it against what names it.
    pub(crate) fn get(global: &Global, own: &NetworkArguments, reference: &Reference) -> Result<Fetched, Fault> {
        let repository = open(global, own, reference, false)?;
        let texts = texts(&repository, reference)?;
        let packed = repository.packed(&texts).map_err(fault)?;
        let manifest = texts.head().digest();
        let bundles = repository.bundles(manifest).map_err(fault)?;
        Ok(Fetched { reference: reference.with_digest(manifest), manifest, packed, bundles })
    }

    /// The package, if it passes its check.
    pub(crate) fn package(&self, global: &Global) -> Result<Package, Fault> {
        let checked = self.checked();
        let word = self.reference.to_string();
        checked.package.ok_or_else(|| repair::refused(&global.line, word.as_ref(), &checked.diagnostics))
    }

    /// The package, checked as any other.
    pub(crate) fn checked(&self) -> Checked {
        let bounds = PackageBounds::default();
        match hutch::package::Source::packed_in_memory(self.packed.clone(), &bounds) {
            Ok(source) => hutch::package::check(&source, bounds),
            Err(error) => error.into(),
        }
    }
}

/// Everything in a package but its component.
pub(crate) fn texts(repository: &Repository, reference: &Reference) -> Result<Texts, Fault> {
    let head = repository.head(reference).map_err(fault)?;
    repository.texts(head).map_err(fault)
}

/// The repository that a reference names. A folder is made if it `is_written`.
pub(crate) fn open(
    global: &Global,
    own: &NetworkArguments,
    reference: &Reference,
    is_written: bool,
) -> Result<Repository, Fault> {
    match &reference.place {
        Place::Registry { host, repository } => {
            let given = surroundings(global, own)?;
            Ok(Repository::Remote(Remote::new(host, repository, given).map_err(fault)?))
        }
        Place::Layout(folder) => {
            let path = Path::new(folder);
            if is_written {
                #[expect(clippy::disallowed_methods, reason = "the caller named the folder to write to")]
                std::fs::create_dir_all(path).map_err(|error| Fault::file(path, &error))?;
            }
            let dir = hutch::package::open_folder(path).map_err(|error| Fault::file(path, &error))?;
            Ok(Repository::Layout(Layout::new(dir, folder, global.wait)))
        }
    }
}

/// A failure of a registry, as it is reported.
pub(crate) fn fault(error: RegistryError) -> Fault {
    match error {
        RegistryError::Artifact(hutch_registry::ArtifactError::Package(error)) => error.into(),
        error => {
            let report = ErrorReport::new(error.code(), error.to_string());
            let report = match &error {
                RegistryError::TagTaken { found, pushed, .. } => report
                    .suggest("raise the version, or push over it with --overwrite")
                    .detail("found", found.as_str())
                    .detail("pushed", pushed.as_str()),
                RegistryError::Missing(_) => report.suggest(
                    "look at the name and the tag; a repository that may not be seen looks as if it were not there",
                ),
                RegistryError::Busy { after, .. } => {
                    let wait = after.map_or(BUSY_SECONDS, |after| after.as_secs().saturating_add(1));
                    report.suggest(format!("wait, then repeat the call; with --wait {wait}s hutch waits by itself"))
                }
                _ => report,
            };
            report.into()
        }
    }
}

/// A small file that the operator named.
pub(crate) fn small_file(global: &Global, path: &Path) -> Result<String, Fault> {
    let bytes = input::whole(path, SMALL_FILE_BYTES_MAX, global.wait)?;
    String::from_utf8(bytes).map_err(|_| Fault::usage(format!("{} is no text", path.display())))
}

fn surroundings(global: &Global, own: &NetworkArguments) -> Result<Surroundings, Fault> {
    let wait = global.wait;
    let is_refused = global.line.words().host.iter().any(|word| word == "--no-plain-http");
    Ok(Surroundings {
        credentials: credential_files(global)?,
        helper: Box::new(move |program, host| help(program, host, wait)),
        authorities: own.ca.as_deref().map(|path| small_file(global, path)).transpose()?,
        plain_http: if is_refused { Some(false) } else { own.plain_http.then_some(true) },
        token_host: own.token_host.clone(),
        proxy: proxy(own.plain_http),
        wait,
        part_bytes: PART_BYTES,
        pause: PAUSE,
        sleep: Arc::new(sleep),
    })
}

#[expect(clippy::disallowed_methods, reason = "who is busy needs time, and nobody tells when it is over")]
fn sleep(pause: Duration) {
    std::thread::sleep(pause);
}

/// The files of credentials that there are, in the order in which podman and docker look.
fn credential_files(global: &Global) -> Result<Vec<CredentialFile>, Fault> {
    let platform = etcetera::choose_base_strategy().ok();
    let home = platform.as_ref().map(|platform| platform.home_dir().to_owned());
    let named = |name: &str| variable(name).map(PathBuf::from);
    let docker = named("DOCKER_CONFIG").or_else(|| Some(home?.join(".docker")));
    let places = [
        named("REGISTRY_AUTH_FILE"),
        named("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
        platform.map(|platform| platform.config_dir().join("containers/auth.json")),
        docker.map(|folder| folder.join("config.json")),
    ];
    let mut found = Vec::new();
    for path in places.into_iter().flatten() {
        #[expect(clippy::disallowed_methods, reason = "docker and podman keep credentials there")]
        let is_there = path.is_file();
        if is_there {
            found.push(CredentialFile { path: path.display().to_string(), text: small_file(global, &path)? });
        }
    }
    Ok(found)
}

/// The proxy that the environment names, and the hosts that it is not for.
fn proxy(is_plain: bool) -> Option<(String, String)> {
    let names = if is_plain { ["http_proxy", "HTTP_PROXY"] } else { ["https_proxy", "HTTPS_PROXY"] };
    let address = names.into_iter().chain(["all_proxy", "ALL_PROXY"]).find_map(variable)?;
    Some((address, ["no_proxy", "NO_PROXY"].into_iter().find_map(variable).unwrap_or_default()))
}

#[expect(clippy::disallowed_methods, reason = "the variables are those that every program for registries reads")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Asks a credential helper, by docker's protocol: `get`, the host on standard input, JSON on standard output.
#[expect(clippy::disallowed_methods, reason = "the person's own file names the program that keeps the credentials")]
fn help(program: &str, host: &str, wait: Duration) -> Result<Option<String>, String> {
    let mut command = Command::new(program);
    // So that it can be ended with what it started.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let started = command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|error| format!("{program}: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // One that has ended says so by its status.
        let _ = input.write_all(host.as_bytes());
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    let output = child.stdout.take();
    let id = child.id();
    let waiter = std::thread::Builder::new().name("helper".to_owned()).spawn(move || {
        let mut text = String::new();
        let read = output.map(|output| output.take(HELPED_BYTES_MAX).read_to_string(&mut text));
        // Nobody may wait any more.
        let _ = sender.send((child.wait(), read.is_some_and(|read| read.is_ok()), text));
    });
    waiter.map_err(|error| format!("no thread to wait with: {error}"))?;
    // Its answer and its end, both within the time: one that stays is waited for no longer than one that says nothing.
    let Ok((status, is_read, text)) = receiver.recv_timeout(wait) else {
        end(id);
        return Err(format!("{program} did not answer and end in time"));
    };
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    if is_read && status.success() {
        return Ok(Some(text));
    }
    // The words by which all helpers say that they have nothing.
    if text.contains("credentials not found") { Ok(None) } else { Err(format!("{program} failed")) }
}

/// Ends a program that leads a group of its own, with all that it started.
#[cfg(unix)]
fn end(id: u32) {
    if let Some(group) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        // A group that is gone already is what is wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// One that stays is left behind.
#[cfg(not(unix))]
fn end(_: u32) {}

/// What to do with a reference where a package on this machine is needed.
pub(crate) fn not_here(global: &Global, word: &str) -> Fault {
    let report =
        ErrorReport::new(ErrorCode::PackageNotFound, format!("{word} lies in a registry, and not on this machine"))
            .suggest("install it, or pull it into a file");
    let install = global.line.elsewhere(["install", word]);
    repair::fixed(report, install, "installs it, if it asks for nothing that must be granted", "low").into()
}
