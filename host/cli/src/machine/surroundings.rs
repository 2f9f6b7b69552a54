//! What the program takes from its surroundings: the clock, randomness, environment, standard input (through `input`), what
//! registries need (through `network`) and the platform's folders. Nothing else in this crate reaches for them.

use crate::flags::database;
use crate::flags::global::{Global, Ring};
use crate::line::call_line::HomeVariable;
use crate::machine::input::{self, InputArguments, Source};
use crate::machine::progress;
use crate::machine::ring;
use crate::refusal::fault::Fault;
use clap::ValueEnum;
use etcetera::BaseStrategy;
use hutch::Host;
use hutch::installed::Installed;
use hutch::package::Memory;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_sandbox::{ArtifactCache, Compile, NOTICED_AFTER, Sandbox, SealKey, Work};
use hutch_serve::Collected;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The host's clock.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the clock what time it is")]
pub(crate) fn now() -> Instant {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Instant::from_unix_ns(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A seed that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "the one place that takes randomness")]
pub(crate) fn random_seed() -> Result<Seed, Fault> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Fault::host(format!("the system gives no randomness: {error}")))?;
    Ok(Seed(seed))
}

/// The most spans that may wait to be sent.
const SPANS_MAX: u64 = 1 << 20;

/// Whether and how spans and metrics are to be sent, by the variables that OpenTelemetry names for it.
#[expect(clippy::disallowed_methods, reason = "variables that every program reads for the same")]
pub(crate) fn collected() -> Result<(Collected, Collected), Fault> {
    let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if value("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok((Collected::No, Collected::No));
    }
    let sent = |signal: &str| {
        // What is said of one signal counts before what is said of all.
        let named = |what: &str| {
            [format!("OTEL_EXPORTER_OTLP_{signal}_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")]
                .into_iter()
                .find_map(|name| value(&name).map(|value| (name, value)))
        };
        let is_off = value(&format!("OTEL_{signal}_EXPORTER")).is_some_and(|exporter| exporter == "none");
        if is_off || named("ENDPOINT").is_none() {
            return Ok(Collected::No);
        }
        match named("PROTOCOL") {
            None => Ok(Collected::Protobuf),
            Some((_, value)) if value == "http/protobuf" => Ok(Collected::Protobuf),
            Some((_, value)) if value == "http/json" => Ok(Collected::Json),
            Some((name, value)) => {
                Err(Fault::usage(format!("{name}: expected http/protobuf or http/json, found {value:?}")))
            }
        }
    };
    // The exporter would set aside room for all of it.
    if value("OTEL_BSP_MAX_QUEUE_SIZE").and_then(|size| size.parse().ok()).is_some_and(|size: u64| size > SPANS_MAX) {
        return Err(Fault::usage(format!("OTEL_BSP_MAX_QUEUE_SIZE: expected at most {SPANS_MAX}")));
    }
    Ok((sent("TRACES")?, sent("METRICS")?))
}

/// The addresses of collectors that those variables name.
#[expect(clippy::disallowed_methods, reason = "variables that every program reads for the same")]
pub(crate) fn collectors() -> Vec<String> {
    let named = ["", "TRACES_", "METRICS_"].map(|signal| format!("OTEL_EXPORTER_OTLP_{signal}ENDPOINT"));
    named.iter().filter_map(|name| std::env::var(name).ok()).collect()
}

/// The descriptor that is standard input.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "what was started to do one thing has what is asked of it there")]
pub(crate) fn standard_input() -> std::io::Result<std::os::fd::OwnedFd> {
    std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned()
}

/// A value of the program's environment.
#[expect(clippy::disallowed_methods, reason = "the operator named the variable")]
pub(crate) fn environment_value(name: &str) -> Result<String, Fault> {
    std::env::var(name).map_err(|_| Fault::usage(format!("the environment has no {name} that is UTF-8 text")))
}

/// What all variables of the program's environment say.
#[expect(clippy::disallowed_methods, reason = "a variable may name a descriptor that is to stay open")]
pub(crate) fn values() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(_, value)| value)
}

/// For whom answers are written where no flag says it.
#[expect(clippy::disallowed_methods, reason = "the variable is the operator's setting")]
pub(crate) fn format() -> Option<String> {
    std::env::var("HUTCH_FORMAT").ok()
}

/// Fewer open files than any command gets by with.
#[cfg(unix)]
const OPEN_FILES_MIN: u64 = 64;

/// Refuses to begin where the system lets this process have too few files open: what goes wrong later looks like a fault of the package's, or
/// of who may do what.
pub(crate) fn check_open_files() -> Result<(), Fault> {
    #[cfg(unix)]
    if let Some(max) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current
        && max < OPEN_FILES_MIN
    {
        let message = format!("this process may have {max} files open at once, and needs {OPEN_FILES_MIN}");
        return Err(Fault::host(message).suggest("allow it more, as with ulimit -n 1024"));
    }
    Ok(())
}

/// When there are to be rings around a run whose line does not say it.
#[expect(clippy::disallowed_methods, reason = "the variable is the operator's setting")]
pub(crate) fn ring() -> Result<Ring, Fault> {
    let asked = std::env::var_os("HUTCH_RING").unwrap_or_default();
    let wrong = || Fault::usage(format!("HUTCH_RING is {asked:?}: expected required, auto or off"));
    match asked.is_empty() {
        true => Ok(Ring::Auto),
        false => asked.to_str().and_then(|asked| Ring::from_str(asked, false).ok()).ok_or_else(wrong),
    }
}

/// Refuses a setting that means nothing, unless a flag stands in its place or the caller looks for what is wrong.
pub(crate) fn check_format(global: &Global, is_looked_for: bool) -> Result<(), Fault> {
    let is_said = global.agent || global.human || is_looked_for;
    match format().as_deref() {
        None | Some("human" | "json" | "agent" | "") => Ok(()),
        Some(_) if is_said => Ok(()),
        Some(other) => Err(Fault::usage(format!("HUTCH_FORMAT is {other:?}: expected human or json"))),
    }
}

/// The host, with its home and the platform's cache. With --dry-run it keeps nothing.
pub(crate) fn host(global: &Global) -> Result<Host, Fault> {
    let home = home(global)?;
    let sandbox = Sandbox::new(compiler()?, None).watched(Arc::new(|work| match work {
        Work::Compile => Box::new(progress::during("compile")),
        Work::Run => Box::new(progress::after("run", NOTICED_AFTER)),
        _ => Box::new(progress::after("work", NOTICED_AFTER)),
    }));
    let (keeper, dry_run) = (home.clone(), global.dry_run);
    let key = move || SealKey::kept(&keeper, random_seed().ok().filter(|_| !dry_run).map(|seed| seed.0));
    let sandbox = match cache(|| opened(global, &cache_folder()?, key)) {
        Some(cache) => sandbox.sharing(cache),
        None => sandbox,
    };
    let sandbox = match global.ring.map_or_else(ring, Ok)? {
        Ring::Required => sandbox.requiring_ring(),
        Ring::Auto | Ring::Off => sandbox,
    };
    // What an entry of another version is made again with; and what is not kept in memory of many programs.
    let read = [Some(Installed::of(&home).folder().to_owned()), cache_folder()].into_iter().flatten().collect();
    let host = Host::new(home, sandbox).waiting(global.wait);
    let host = match cache_folder() {
        Some(folder) => host.owning(folder),
        None => host,
    };
    let host = match global.ring {
        None if ring()? == Ring::Required => host.enclosed_by(ring::refuser()),
        None | Some(Ring::Off) => host,
        Some(asked) => host.enclosed_by(ring::encloser(asked, read)),
    };
    let host = match &global.database {
        None => host,
        Some(database) => host.sharing(database::stores(database, random_seed)),
    };
    Ok(if global.dry_run { host.previewing() } else { host })
}

/// The platform's folder for what can be made again.
fn cache_folder() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("hutch"))
}

/// The cache in a folder. A preview neither makes it nor writes into it.
fn opened(
    global: &Global,
    folder: &Path,
    key: impl FnOnce() -> Option<SealKey> + Send + 'static,
) -> Option<ArtifactCache> {
    match global.dry_run {
        true => ArtifactCache::open_to_read(folder, key),
        false => ArtifactCache::open(folder, key),
    }
}

/// What was compiled and read before, opened once: a process has one home.
fn cache(open: impl FnOnce() -> Option<ArtifactCache>) -> Option<Arc<ArtifactCache>> {
    static CACHE: OnceLock<Option<Arc<ArtifactCache>>> = OnceLock::new();
    CACHE.get_or_init(|| open().map(Arc::new)).clone()
}

/// What is remembered of packages, if anything can be yet: whether there is a good package that needs a cache and a key is not known
/// before one is read.
pub(crate) fn memory(global: &Global) -> Result<Option<Memory>, Fault> {
    let at = now();
    let key = SealKey::kept(&home(global)?, None);
    #[expect(clippy::disallowed_methods, reason = "the platform names the cache by its path; looking makes nothing")]
    let folder = cache_folder().filter(|folder| folder.is_dir());
    let found = key.zip(folder);
    let cache = found.and_then(|(key, folder)| cache(|| opened(global, &folder, move || Some(key))));
    Ok(cache.map(|cache| Memory::new(cache, at)))
}

/// The home that the command line, HUTCH_HOME or the platform names.
pub(crate) fn home(global: &Global) -> Result<PathBuf, Fault> {
    let platform = etcetera::choose_base_strategy();
    let named = named_home(global);
    if let Some(scheme) = named.as_deref().and_then(scheme) {
        // What stands behind it may hold a password.
        let message = format!("a home is a folder, and {scheme}://… names none");
        return Err(Fault::usage(message)
            .suggest("name a folder; a database or bucket that has the instances is named by HUTCH_STORE"));
    }
    let home = match (named, &platform) {
        (Some(home), _) => home,
        (None, Ok(platform)) => platform.data_dir().join("hutch"),
        (None, Err(_)) => return Err(Fault::usage("there is no home directory; name one with --home or HUTCH_HOME")),
    };
    std::path::absolute(&home).map_err(|error| Fault::host(format!("{}: {error}", home.display())))
}

/// What an address begins with, if that is one and no path: a letter of a drive is none.
fn scheme(path: &Path) -> Option<String> {
    let text = path.to_string_lossy();
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '.' | '-');
    let begins = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (begins && scheme.len() > 1 && scheme.chars().all(is_scheme)).then(|| scheme.to_owned())
}

/// The home, if the command line or HUTCH_HOME names one.
fn named_home(global: &Global) -> Option<PathBuf> {
    global.home.clone().or_else(|| home_in_environment().map(PathBuf::from))
}

/// What a call has to be told that is made later, by a program that has other variables than this one.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) variable: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) value: String,
}

/// What keeps a later call at this home and behind these rings: whatever was named, or is other than for who knows nothing but a person's folder.
pub(crate) fn for_later(global: &Global) -> Result<Vec<Setting>, Fault> {
    let found = home(global)?;
    let is_usual = cfg!(windows) || person().is_ok_and(|person| person.join(".local/share/hutch") == found);
    let home = match is_usual && named_home(global).is_none() {
        true => None,
        false => {
            let text = found.into_os_string().into_string();
            let value = text.map_err(|home| Fault::usage(format!("{} is not UTF-8", home.display())))?;
            Some(Setting { variable: "HUTCH_HOME", flag: "--home", value })
        }
    };
    let ring = match global.ring.map_or_else(ring, Ok)? {
        Ring::Auto => None,
        Ring::Required => Some("required"),
        Ring::Off => Some("off"),
    };
    let ring = ring.map(|when| Setting { variable: "HUTCH_RING", flag: "--ring", value: when.to_owned() });
    Ok(home.into_iter().chain(ring).collect())
}

/// The home that the environment names, as far as a line can name it too.
pub(crate) fn home_variable() -> HomeVariable {
    match home_in_environment().map(OsString::into_string) {
        None => HomeVariable::Absent,
        Some(Ok(home)) => HomeVariable::Text(home),
        Some(Err(_)) => HomeVariable::NotText,
    }
}

#[expect(clippy::disallowed_methods, reason = "the variable is the operator's setting")]
fn home_in_environment() -> Option<OsString> {
    std::env::var_os("HUTCH_HOME").filter(|home| !home.is_empty())
}

/// A setting that names or opens a database or a bucket, as PostgreSQL's own programs and those of AWS read it but for HUTCH_STORE; none if it
/// is empty.
#[expect(
    clippy::disallowed_methods,
    reason = "variables that every program reads for the same, and the operator's setting"
)]
pub(crate) fn database_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where a person keeps passwords of databases, unless PGPASSFILE says otherwise.
#[cfg(feature = "postgres")]
pub(crate) fn passwords() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.home_dir().join(".pgpass"))
}

/// The home directory of whoever calls.
pub(crate) fn person() -> Result<PathBuf, Fault> {
    let platform = etcetera::choose_base_strategy();
    platform.map(|platform| platform.home_dir().to_owned()).map_err(|_| Fault::usage("there is no home directory"))
}

/// The folder where a person keeps commands of their own.
pub(crate) fn command_folder() -> Result<PathBuf, Fault> {
    person().map(|home| home.join(".local/bin")).map_err(|fault| fault.suggest("name a folder with --launcher-dir"))
}

/// The folders that commands are looked for in.
#[expect(clippy::disallowed_methods, reason = "the variable says what a shell would find")]
pub(crate) fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// This program's file.
#[expect(
    clippy::disallowed_methods,
    reason = "this program starts itself to compile, reach a bucket and be tested; what came with it lies beside it"
)]
pub(crate) fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// This program again, as the process that compiles; or this process, where the operator says that no program can start itself.
#[expect(clippy::disallowed_methods, reason = "the variable is the operator's setting")]
fn compiler() -> Result<Compile, Fault> {
    match std::env::var_os("HUTCH_COMPILE").as_deref().map(OsStr::to_str) {
        None | Some(Some("" | "child")) => {}
        Some(Some("here")) => return Ok(Compile::Here),
        Some(_) => return Err(Fault::usage("HUTCH_COMPILE is neither child nor here")),
    }
    let key = SealKey::new(random_seed()?.0);
    Ok(match program() {
        Ok(program) => Compile::Child { program, arguments: vec!["compile-component".into()], key },
        Err(_) => Compile::Here,
    })
}

/// The guest's standard input, up to one byte more than it may have.
pub(crate) fn guest_stdin(asked: &InputArguments, bytes_max: u64, wait: Duration) -> Result<Vec<u8>, Fault> {
    let source = match &asked.stdin_file {
        _ if asked.stdin => Source::Stdin,
        Some(path) => Source::File(path.clone()),
        None => return Ok(asked.stdin_text.clone().unwrap_or_default().into_bytes()),
    };
    input::read(source, bytes_max, wait)
}
