//! A test of a package: a call, the state that it sees, as files, and what it comes to. It is made of an entry of a ledger, and tried by whichever
//! version of the package is at hand: what the run says and leaves is compared, and what it takes is not. Knows no ledger when it is tried.

use crate::call::{Call, EnvironmentValue};
use crate::execute::{Executed, Ground, execute_over};
use crate::failure::Failure;
use crate::host::Host;
use crate::package::{Package, PackageEntry, PackageError};
use crate::prepare::leading;
use crate::session::{Session, package_record};
use data_encoding::BASE64;
use hutch_model::diagnostic::{Code, Diagnostic, Position, short};
use hutch_model::digest::Digest;
use hutch_model::document;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::{EnvironmentRecord, Inputs, OutcomeRecord, Record, Sealed, SecretKey, StreamRecord};
use hutch_model::limits::Limit;
use hutch_model::manifest::VOLUMES_MAX;
use hutch_model::names::PackagePath;
use hutch_model::outcome::{Contract, Verdict};
use hutch_model::snapshot::{
    Entry, Lack, MemoryObjects, Name, Node, ObjectError, Objects, Totals, Tree, diff, read_file, read_object, read_tree,
};
use hutch_sandbox::RunError;
use hutch_store::{InstanceName, MemoryStore, State, VolumeName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The folder of a package that its tests are in.
const FOLDER: &str = "tests";
/// How a test's file is called there: so, behind a name.
const ENDING: &str = ".test.json";
/// The most bytes of a test, as a file and of what is in it.
pub const CASE_BYTES_MAX: u64 = 4 << 20;
/// The most memory that reading one takes as a value, before it is looked at.
const VALUE_BYTES_MAX: u64 = 8 * CASE_BYTES_MAX;
/// What a file, folder or link takes in a test beside its name and its content.
const ITEM_BYTES: u64 = 64;
/// The most tests of a package, and their bytes together.
const CASES_MAX: usize = 1000;
const CASES_BYTES_MAX: u64 = 64 << 20;
/// The fuel that the tests of a package may take together.
pub const CASES_FUEL_MAX: u64 = 100_000_000_000;
/// How many places are named in which a test came to something else.
const DIFFERENCES: usize = 10;

/// Bytes as a person reads them, if they are text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Text(String),
    Base64(String),
}

impl Default for Written {
    fn default() -> Written {
        Written::Text(String::new())
    }
}

impl Written {
    fn of(bytes: Vec<u8>) -> Written {
        String::from_utf8(bytes).map_or_else(|error| Written::Base64(BASE64.encode(error.as_bytes())), Written::Text)
    }

    fn is_empty(&self) -> bool {
        *self == Written::default()
    }

    fn bytes(&self) -> Result<Vec<u8>, NotACase> {
        match self {
            Written::Text(text) => Ok(text.clone().into_bytes()),
            Written::Base64(text) => BASE64.decode(text.as_bytes()).map_err(|error| wrong(error.to_string())),
        }
    }
}

/// What stands in a folder, by name.
type Folder = BTreeMap<String, Item>;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    modified: Instant,
    is: Kept,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    File(Written),
    Folder(Folder),
    Link(String),
}

/// A test. Its form is the file's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Behind the words that each call of the package begins with.
    arguments: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    environment: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    stdin: Written,
    now: Instant,
    seed: Seed,
    #[serde(default)]
    contract: Contract,
    /// The volumes that the call sees.
    before: BTreeMap<String, Folder>,
    exit_status: u8,
    stdout: Written,
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    stderr: Written,
    /// The volumes that it leaves otherwise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    after: BTreeMap<String, Folder>,
}

/// Why a file is no test.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("it is no test: {0}")]
pub struct NotACase(String);

fn wrong(reason: impl Into<String>) -> NotACase {
    NotACase(short(&reason.into()))
}

/// Why an entry makes no test, or a test can't be tried.
fn none(reason: impl Into<String>) -> Failure {
    Failure::NotAgain { reason: reason.into() }
}

fn unread(error: ObjectError) -> Failure {
    match error.lack {
        Lack::Missing => none("the state before or after it is not kept"),
        _ => Failure::Run(RunError::from(error)),
    }
}

impl From<NotACase> for Failure {
    fn from(error: NotACase) -> Failure {
        none(error.to_string())
    }
}

/// A folder of a state, as it is written.
fn written(objects: &dyn Objects, tree: &Digest) -> Result<Folder, Failure> {
    let mut folder = Folder::new();
    for Entry { name, modified_ns, node } in read_tree(objects, tree).map_err(unread)?.into_entries() {
        let is = match node {
            Node::File { size, content } => {
                let mut bytes = Vec::new();
                let mut each = |part: &[u8]| {
                    bytes.extend_from_slice(part);
                    Ok::<_, ObjectError>(())
                };
                read_file(objects, &content, size, &mut each).map_err(unread)?;
                Kept::File(Written::of(bytes))
            }
            Node::Folder { tree, .. } => Kept::Folder(written(objects, &tree)?),
            Node::Link { target } => Kept::Link(target.into()),
        };
        folder.insert(name.as_str().to_owned(), Item { modified: Instant::from_unix_ns(modified_ns), is });
    }
    Ok(folder)
}

/// Takes in what is written.
fn insert(objects: &mut MemoryObjects, folder: &Folder) -> Result<Node, NotACase> {
    let mut entries = Vec::new();
    for (name, item) in folder {
        let node = match &item.is {
            Kept::File(written) => objects.insert_file(&written.bytes()?),
            Kept::Folder(folder) => insert(objects, folder)?,
            Kept::Link(target) => Node::Link { target: target.as_str().into() },
        };
        let name = Name::new(name).map_err(|error| wrong(format!("{name:?}: {error}")))?;
        entries.push(Entry { name, modified_ns: item.modified.unix_ns(), node });
    }
    let tree = Tree::new(entries).ok_or_else(|| wrong("a name stands in a folder twice"))?;
    // What no state can hold would be damage when it is read.
    match Tree::decode(&tree.encode()) {
        Ok(read) if read == tree => Ok(objects.insert_tree(&tree)),
        _ => Err(wrong("a link leads nowhere, or is longer than one may be")),
    }
}

fn trees(objects: &mut MemoryObjects, volumes: &BTreeMap<String, Folder>) -> Result<State, NotACase> {
    if volumes.len() > VOLUMES_MAX {
        return Err(wrong(format!("{} volumes, {VOLUMES_MAX} allowed", volumes.len())));
    }
    let mut trees = State::new();
    for (name, folder) in volumes {
        let name = name.parse::<VolumeName>().map_err(|error| wrong(error.to_string()))?;
        if let Node::Folder { tree, .. } = insert(objects, folder)? {
            trees.insert(name, tree);
        }
    }
    Ok(trees)
}

/// What the volumes of a test are, by name, and what is in them.
struct States {
    objects: MemoryObjects,
    before: State,
    after: State,
}

impl Case {
    /// Reads one.
    ///
    /// # Errors
    /// It is none.
    pub fn read(bytes: &[u8]) -> Result<Case, NotACase> {
        if bytes.len() as u64 > CASE_BYTES_MAX {
            return Err(wrong(format!("{} bytes, {CASE_BYTES_MAX} allowed", bytes.len())));
        }
        let value = document::read_within(bytes, VALUE_BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
        let case: Case = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        for stream in [&case.stdin, &case.stdout, &case.stderr] {
            stream.bytes()?;
        }
        case.states()?;
        Ok(case)
    }

    /// The files of a package's tests, wherever below its folder `tests` they are, sorted by path. None is opened.
    ///
    /// # Errors
    /// What makes a file unfit to be read, or a bound that is passed: there are at most 1000, of 64 MiB together.
    pub fn files(package: &Package) -> Result<Vec<PackageEntry>, PackageError> {
        let folder = PackagePath::parse(FOLDER);
        let folder = folder.map_err(|error| unfit(Code::PathInvalid, FOLDER, error.to_string()))?;
        let mut files = package.entries(&folder)?;
        files.retain(|entry| entry.file_bytes.is_some() && entry.path.as_str().ends_with(ENDING));
        if files.len() > CASES_MAX {
            let message = format!("{} tests, {CASES_MAX} allowed", files.len());
            return Err(unfit(Code::TooManyFiles, FOLDER, message));
        }
        let bytes = files.iter().filter_map(|file| file.file_bytes).fold(0, u64::saturating_add);
        if bytes > CASES_BYTES_MAX {
            let message = format!("the tests have {bytes} bytes, {CASES_BYTES_MAX} allowed");
            return Err(unfit(Code::PackageTooLarge, FOLDER, message));
        }
        Ok(files)
    }

    /// The test in one of them.
    ///
    /// # Errors
    /// It is none, or can't be read.
    pub fn of(package: &Package, file: &PackageEntry) -> Result<Case, PackageError> {
        let path = file.path.as_str();
        if file.file_bytes > Some(CASE_BYTES_MAX) {
            return Err(unfit(Code::FileTooLarge, path, format!("a test has at most {CASE_BYTES_MAX} bytes")));
        }
        let bytes = package.read(&file.path).map_err(PackageError::one)?;
        Case::read(&bytes).map_err(|error| unfit(Code::ValueInvalid, path, error.to_string()))
    }

    fn states(&self) -> Result<States, NotACase> {
        let mut objects = MemoryObjects::default();
        let (before, after) = (trees(&mut objects, &self.before)?, trees(&mut objects, &self.after)?);
        Ok(States { objects, before, after })
    }

    /// The call, as somebody makes it now.
    fn call(&self, at: Instant) -> Result<Call, NotACase> {
        let mut call = Call::new(self.arguments.iter().cloned(), at, self.seed).with_stdin(self.stdin.bytes()?);
        let plain = |value: &String| EnvironmentValue { value: value.clone(), secret: false };
        call.environment = self.environment.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
        (call.clock_start, call.contract) = (self.now, Some(self.contract));
        Ok(call)
    }

    /// Where a run came to something else, the first few places.
    fn differences(&self, states: &States, executed: &Executed) -> Result<Vec<String>, Failure> {
        let mut differences = Vec::new();
        match (&executed.verdict, executed.verdict.exit_status()) {
            (Verdict::Bad { code, message }, _) => differences.push(format!("{}: {}", code.text(), short(message))),
            (_, status) if status != self.exit_status => {
                differences.push(format!("exit status {status}, and not {}", self.exit_status));
            }
            _ => {}
        }
        let outcome = &executed.outcome;
        for (name, is, was) in [("stdout", &outcome.stdout, &self.stdout), ("stderr", &outcome.stderr, &self.stderr)] {
            let was = was.bytes()?;
            if *is != was {
                let at = is.iter().zip(&was).take_while(|(is, was)| is == was).count();
                let rest = |all: &[u8]| short(&String::from_utf8_lossy(all.get(at..).unwrap_or_default()));
                differences.push(format!("{name} from byte {at} on: {:?}, and not {:?}", rest(is), rest(&was)));
            }
        }
        for name in states.after.keys().map(VolumeName::as_str).filter(|name| !executed.volumes.contains_key(*name)) {
            differences.push(format!("volume {}: the package has none of this name", short(name)));
        }
        for (name, volume) in &executed.volumes {
            let wanted = states.after.get(name.as_str()).unwrap_or(&volume.before);
            if volume.after != *wanted {
                let changes = diff(&executed.all, wanted, &volume.after).map_err(RunError::from)?;
                let first = changes.listed.first().map(|change| short(&change.path)).unwrap_or_default();
                let (name, count) = (short(name), changes.count());
                differences.push(format!("volume {name}: {count} paths differ, the first {first:?}"));
            }
        }
        let more = differences.len().saturating_sub(DIFFERENCES);
        if more > 0 {
            differences.truncate(DIFFERENCES);
            differences.push(format!("{more} more"));
        }
        Ok(differences)
    }
}

fn unfit(code: Code, path: &str, message: String) -> PackageError {
    PackageError::one(Diagnostic::new(code, path, Position::START, message))
}

/// What an entry says of a run that any host comes to again, whatever its operator allows.
fn run_of(record: &Record) -> Result<&OutcomeRecord, Failure> {
    let outcome = record.outcome.as_ref().ok_or_else(|| none("no guest ran"))?;
    match () {
        () if record.error.is_some() || outcome.ending.exit_status().is_none() => Err(none("it did not end well")),
        () if !outcome.unreproducible.is_empty() => Err(none("its outcome depends on the host")),
        () if !outcome.refused.is_empty() => Err(none("a limit refused it something, and a test sets none")),
        () => Ok(outcome),
    }
}

impl Host {
    /// The test that an entry makes of its run: nothing runs. The whole state that the run saw goes into it, and no secret.
    ///
    /// # Errors
    /// None can be made of it ([`Failure::NotAgain`]): no guest ran or it did not end well, it was given a secret or a real folder, something of it is
    /// not kept, or it is too large. Or this package would refuse the call; or the store can't be read.
    pub fn case(&self, package: &Package, session: &Session, sealed: &Sealed) -> Result<Case, Failure> {
        let record = sealed.open().map_err(Failure::Entry)?.record;
        let Some(invocation) = &record.invocation else { return Err(none("no guest ran")) };
        if !invocation.mounts.is_empty() {
            return Err(none("its guest was granted a real folder, and a test has none"));
        }
        let outcome = run_of(&record)?;
        if sealed.sequence < session.head()?.retained_from {
            return Err(none("its state is not kept any more"));
        }
        let limits = self.limits(package, []);
        if outcome.fuel > limits.get(Limit::Fuel) || outcome.memory_peak_bytes > limits.get(Limit::Memory) {
            return Err(none("it took more than the package may, and a test sets no limits"));
        }
        let (store, objects) = (session.store(), session.objects());
        let stream = |what: &str, stream: &StreamRecord| -> Result<Vec<u8>, Failure> {
            if stream.size == 0 {
                return Ok(Vec::new());
            }
            let bytes = store.stream(&stream.digest)?.ok_or_else(|| none(format!("its {what} is not kept")))?;
            Ok(bytes.to_vec())
        };
        let mut volumes = Vec::new();
        let mut totals = Totals::default();
        for (name, volume) in &record.volumes {
            let before = volume.before.ok_or_else(|| none("it made the state that it saw"))?;
            let changed = Some(volume.after).filter(|after| *after != before);
            for tree in [Some(before), changed].into_iter().flatten() {
                totals = totals.plus(read_object(&*objects, &tree).map_err(unread)?.totals());
            }
            volumes.push((name, before, changed));
        }
        let streams = [&invocation.stdin, &outcome.stdout, &outcome.stderr].into_iter().chain(&invocation.inputs);
        let items = totals.files.saturating_mul(ITEM_BYTES);
        let bytes = streams.map(|stream| stream.size).fold(totals.bytes.saturating_add(items), u64::saturating_add);
        if bytes > CASE_BYTES_MAX {
            return Err(none(format!("what it follows from has {bytes} bytes, {CASE_BYTES_MAX} allowed in a test")));
        }
        let apart = match &invocation.inputs {
            Some(inputs) => Inputs::read(&stream("argument list", inputs)?).map_err(|error| none(error.to_string())),
            None => Ok(Inputs { argv: invocation.argv.clone(), environment: invocation.environment.clone() }),
        };
        let Inputs { argv, environment } = apart?;
        let begins: Vec<&str> = leading(package.manifest()).collect();
        if !argv.iter().map(String::as_str).take(begins.len()).eq(begins.iter().copied()) {
            return Err(none(format!("its arguments do not begin as the package's do, with {}", begins.join(" "))));
        }
        let plain = environment.into_iter().map(|(name, value)| match value {
            EnvironmentRecord::Value(value) => Ok((name, value)),
            EnvironmentRecord::Secret(_) => Err(none(format!("it was given the secret {name}, and a test has none"))),
        });
        let mut case = Case {
            arguments: argv.into_iter().skip(begins.len()).collect(),
            environment: plain.collect::<Result<_, _>>()?,
            stdin: Written::of(stream("standard input", &invocation.stdin)?),
            now: invocation.clock_start,
            seed: invocation.seed,
            contract: invocation.contract,
            before: BTreeMap::new(),
            exit_status: outcome.ending.exit_status().unwrap_or_default(),
            stdout: Written::of(stream("standard output", &outcome.stdout)?),
            stderr: Written::of(stream("standard error", &outcome.stderr)?),
            after: BTreeMap::new(),
        };
        for (name, before, changed) in &volumes {
            case.before.insert((*name).clone(), written(&*objects, before)?);
            if let Some(after) = changed {
                case.after.insert((*name).clone(), written(&*objects, after)?);
            }
        }
        // As whoever tries it reads it: what it can't say is not left out in silence.
        let bytes = serde_json::to_vec(&case).map_err(|error| none(error.to_string()))?;
        let States { before, after, .. } = Case::read(&bytes)?.states()?;
        let is_same = |(name, was, changed): &(&String, Digest, Option<Digest>)| {
            before.get(name.as_str()) == Some(was) && after.get(name.as_str()) == changed.as_ref()
        };
        if !volumes.iter().all(is_same) {
            return Err(none("its state can't be written as files"));
        }
        self.validate(package, &case.call(record.at)?)?;
        Ok(case)
    }

    /// Makes a test's call by a package, in no instance, and says where it comes to something else: nowhere if it passes. `at` is the host's clock.
    /// What it takes of fuel is taken from `fuel`, which is what tests may still take together ([`CASES_FUEL_MAX`]). Changes nothing else.
    ///
    /// # Errors
    /// The host failed, or what the call comes to depends on it; or no fuel is left, and nothing ran.
    pub fn try_case(
        &self,
        package: &Package,
        case: &Case,
        at: Instant,
        fuel: &mut u64,
    ) -> Result<Vec<String>, Failure> {
        if *fuel == 0 {
            let message = "the tests before it took all the fuel that tests may take together".to_owned();
            return Err(unfit(Code::TooManyFiles, FOLDER, message).into());
        }
        let states = case.states()?;
        let mut state = State::new();
        for volume in package.manifest().volumes() {
            let Some((name, tree)) = states.before.get_key_value(volume.as_str()) else {
                return Ok(vec![format!("volume {}: the test says nothing of it", short(volume.as_str()))]);
            };
            state.insert(name.clone(), *tree);
        }
        let store = Arc::new(MemoryStore::new(SecretKey::new([0; 32])));
        let session = self.session_of(store, &InstanceName::default(), package_record(package)?, at);
        let prepared = match self.prepare(package, &case.call(at)?, &session, true) {
            Ok(prepared) => prepared,
            Err(refused) if refused.failure.is_refusal() => {
                let report = refused.failure.report();
                return Ok(vec![format!("{}: {}", report.code.text(), short(&report.message))]);
            }
            Err(refused) => return Err(*refused.failure),
        };
        let executed = execute_over(&prepared, &Ground::of(&prepared, Arc::new(states.objects.clone()), &state))?;
        *fuel = fuel.saturating_sub(executed.outcome.fuel);
        if !executed.outcome.unreproducible.is_empty() {
            return Err(none("its outcome depends on the host"));
        }
        case.differences(&states, &executed)
    }
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
