//! Arguments that say how a guest is invoked: shared by every command that invokes one.

use crate::flags::choice::{Choice, one_of};
use crate::flags::global::Global;
use crate::machine::input::{InputArguments, Piped};
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::package::Package;
use hutch::{Answer, Call, EnvironmentValue, Grants, Host, Mount};
use hutch_documents::agent::{reads_stdin, stdin_parameter};
use hutch_model::contract::{ArgumentViolation, ContractFile, ValueType, ViolationKind};
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Seed};
use hutch_model::ledger::MountRecord;
use hutch_model::limits::Limit;
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One invocation, as asked for.
#[derive(Debug, Args)]
pub(crate) struct InvocationArguments {
    /// Confirm a command that asks for it
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// The instance, whose state it works on
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) instance: InstanceName,
    /// The guest's clock at the start; else now
    #[arg(long, value_name = "INSTANT")]
    pub(crate) now: Option<Instant>,
    /// Its seed: a number or 64 hex digits; else random
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<Seed>,
    /// Set a limit; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    pub(crate) limits: Vec<(Limit, u64)>,
    /// Give a variable that it asks for
    #[arg(long = "env", value_name = "NAME=TEXT", value_parser = parse_pair)]
    pub(crate) environment: Vec<(String, String)>,
    /// Give it from this process; kept as a keyed hash
    #[arg(long = "secret", value_name = "NAME")]
    pub(crate) secrets: Vec<String>,
    /// Grant a real folder that it asks for; :rw to write
    #[arg(long = "mount", value_name = "DIR:NAME[:ro|rw|rwx]", value_parser = parse_mount)]
    pub(crate) mounts: Vec<Asked>,
    /// What output is held to; else json, any for --human
    #[arg(long, value_parser = one_of(CONTRACTS))]
    pub(crate) contract: Option<Contract>,
    /// Hold arguments and effect to no contract
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// How strictly arguments are judged; else as the package says
    #[arg(long, value_parser = one_of(GUARDS))]
    pub(crate) guard: Option<Guard>,
    /// Take over the state of another package
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Keep only digests of what it reads and writes
    #[arg(long)]
    pub(crate) digests_only: bool,
    /// A folder, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: PathBuf,
    /// The guest's arguments
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// What output can be held to.
pub(crate) const CONTRACTS: &[Choice<Contract>] = &[
    ("json", "Exit status 0 comes with exactly one JSON document", Contract::Json),
    ("schema", "The same, and the document is of the command's declared output schema", Contract::Schema),
    ("any", "Any output", Contract::Any),
];

/// How strictly arguments can be judged.
pub(crate) const GUARDS: &[Choice<Guard>] = &[
    ("strict", "No secrets, sensitive paths, traversal, shell syntax or control characters", Guard::Strict),
    ("text", "The same, but prose is not judged as shell syntax or paths", Guard::Text),
    ("off", "Everything is let through", Guard::Off),
];

pub(crate) fn parse_limit(text: &str) -> Result<(Limit, u64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as memory_bytes=64MiB")?;
    let names = || Limit::ALL.iter().map(|limit| limit.name()).collect::<Vec<_>>().join(", ");
    let limit = Limit::from_name(name).ok_or_else(|| format!("there is no limit {name:?}; limits are {}", names()))?;
    let amount = limit.unit().parse(value).ok_or_else(|| format!("expected {}", limit.unit().expected()))?;
    Ok((limit, amount))
}

/// What an invocation that is made again is given again.
#[derive(Debug, Args)]
pub(crate) struct GrantArguments {
    /// Give a secret that it was given, from this process's environment; may be repeated
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    /// Grant a folder that it was granted; may be repeated
    #[arg(long = "mount", value_name = "DIR:NAME[:ro|rw|rwx]", value_parser = parse_mount)]
    mounts: Vec<Asked>,
}

impl GrantArguments {
    pub(crate) fn grants(&self, global: &Global, host: &Host) -> Result<Grants, Fault> {
        let mut grants = Grants::default();
        (grants.secrets, grants.confirmed) = (secret_values(&self.secrets)?, global.yes);
        grants.mounts = mounts(self.mounts.clone(), host)?;
        Ok(grants)
    }
}

/// A folder that is to be granted.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    folder: PathBuf,
    name: String,
    access: Access,
    /// Whether what tools act on is granted with it.
    acted_on: bool,
}

impl Asked {
    /// The same as a word that means it wherever it is read.
    pub(crate) fn settled(&self) -> Result<String, Fault> {
        let path = std::path::absolute(&self.folder).map_err(|error| Fault::file(&self.folder, &error))?;
        let path = path.to_str().ok_or_else(|| Fault::usage(format!("{} is not UTF-8", path.display())))?;
        let granted = MountRecord { path: path.to_owned(), access: self.access, acted_on: self.acted_on };
        Ok(granted.argument(&self.name))
    }
}

/// Read-only unless it says otherwise.
pub(crate) fn parse_mount(text: &str) -> Result<Asked, String> {
    let (text, access, acted_on) = match text.rsplit_once(':') {
        Some((rest, "ro")) => (rest, Access::ReadOnly, false),
        Some((rest, "rw")) => (rest, Access::ReadWrite, false),
        Some((rest, "rwx")) => (rest, Access::ReadWrite, true),
        _ => (text, Access::ReadOnly, false),
    };
    let (folder, name) = text.rsplit_once(':').ok_or("expected DIR:NAME, and then :ro, :rw or :rwx if need be")?;
    Ok(Asked { folder: folder.into(), name: name.to_owned(), access, acted_on })
}

/// The granted folders. What can't be granted is refused before anything else is looked at.
pub(crate) fn mounts(asked: Vec<Asked>, host: &Host) -> Result<BTreeMap<String, Mount>, Fault> {
    let mut mounts = BTreeMap::new();
    for Asked { folder, name, access, acted_on } in asked {
        let path = std::path::absolute(&folder).map_err(|error| Fault::file(&folder, &error))?;
        let mount = Mount::open(&path, access).map_err(|error| Fault::file(&folder, &error))?;
        let mount = if acted_on { mount.with_acted_on() } else { mount };
        host.check_mounts([&mount])?;
        if mounts.insert(name.clone(), mount).is_some() {
            return Err(Fault::usage(format!("two folders are to be mounted as {name}")));
        }
    }
    Ok(mounts)
}

pub(crate) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl InvocationArguments {
    /// One of which nothing else is said.
    pub(crate) fn new(package: PathBuf, arguments: Vec<String>) -> InvocationArguments {
        InvocationArguments {
            yes: false,
            input: InputArguments { stdin: false, stdin_file: None, stdin_text: None },
            instance: InstanceName::default(),
            now: None,
            seed: None,
            limits: Vec::new(),
            environment: Vec::new(),
            secrets: Vec::new(),
            mounts: Vec::new(),
            contract: None,
            unchecked: false,
            guard: None,
            adopt: false,
            digests_only: false,
            package,
            arguments,
        }
    }

    /// The limits that the operator sets.
    pub(crate) fn operator_limits(&self) -> BTreeMap<Limit, u64> {
        self.limits.iter().copied().collect()
    }

    /// The largest component that the operator wants to open.
    pub(crate) fn component_bytes_max(&self) -> Option<u64> {
        self.operator_limits().get(&Limit::Component).copied()
    }

    /// The host to make the call with.
    pub(crate) fn host(&self, global: &Global) -> Result<Host, Fault> {
        let host = surroundings::host(global)?;
        Ok(if self.adopt { host.adopting() } else { host })
    }

    /// The words that grant the same folders to another command, wherever it is typed.
    pub(crate) fn granted(&self) -> Result<Vec<String>, Fault> {
        let words = self.mounts.iter().map(|asked| Ok(["--mount".to_owned(), asked.settled()?]));
        words.collect::<Result<Vec<_>, Fault>>().map(|words| words.into_iter().flatten().collect())
    }

    /// How the application is given what stands on standard input, where one of its parameters stands for that, was left out, and something
    /// is piped in.
    pub(crate) fn unread(&self, package: &Package) -> Option<String> {
        let piped = Piped::here().filter(|_| self.input.is_absent() && !self.unchecked)?;
        let contract = hutch::contract_of_call(package, &self.arguments).ok()??;
        let read = contract.read_arguments(&self.arguments);
        let parameter = stdin_parameter(read.command?)?;
        let (name, flag) = (&parameter.name, format!("--{}", parameter.name));
        let is_missing = |one: &ArgumentViolation| {
            one.kind == ViolationKind::Missing
                && one.parameter.as_ref().is_some_and(|missing| missing.eq_ignore_ascii_case(name))
        };
        let is_named = |word: &String| word.split('=').next() == Some(flag.as_str());
        // What has to be named was probably meant to come that way; what need not be, if anything came.
        let is_left_out = match parameter.required {
            true => read.violations.iter().any(is_missing),
            false => parameter.position.is_none() && piped == Piped::Bytes,
        };
        let how = parameter.position.map_or_else(|| format!("{flag} -"), |_| format!("- as {}", name.to_uppercase()));
        let said = || {
            format!("what is piped in was not given to the application: write {how}, which stands for standard input")
        };
        (is_left_out && !self.arguments.iter().any(is_named)).then(said)
    }

    /// Whether something is piped in, and no flag says what the application is given. The arguments may.
    pub(crate) fn is_piped_past(&self) -> bool {
        self.input.is_absent() && Piped::here() == Some(Piped::Bytes)
    }

    /// The call that these arguments ask for, with what is missing taken from the surroundings.
    pub(crate) fn call(self, global: &Global, host: &Host, package: &Package, retries: u32) -> Result<Call, Fault> {
        let limits = self.operator_limits();
        let mounts = mounts(self.mounts, host)?;
        let granted = host.limits(package, limits.clone());
        let at = surroundings::now();
        let seed = self.seed.map_or_else(surroundings::random_seed, Ok)?;
        let mut input = self.input;
        input.stdin |= input.is_absent() && !self.unchecked && reads_input(package, &self.arguments)?;
        // A person who agreed is not asked once more by the application.
        let arguments = if self.yes { confirmed(package, self.arguments) } else { self.arguments };
        let mut call = Call::new(arguments, at, seed).in_instance(self.instance);
        call.stdin = surroundings::guest_stdin(&input, granted.get(Limit::Stdin), global.wait)?;
        call.clock_start = self.now.unwrap_or(at);
        call.environment = environment(self.environment, self.secrets)?;
        (call.mounts, call.limits) = (mounts, limits);
        (call.contract, call.guard) = (self.contract, self.guard);
        (call.unchecked, call.confirmed) = (self.unchecked, self.yes);
        call.retries = retries;
        call.keep_streams = !self.digests_only;
        Ok(call)
    }
}

/// How the application is given what is piped in, where it looked for that and got nothing: its contract need not name it.
pub(crate) fn looked_for(is_piped_past: bool, call: &Call, answer: &Answer) -> Option<&'static str> {
    let said =
        "what is piped in was not given to the application, which looked for it: write --stdin before the package";
    (is_piped_past && call.stdin.is_empty() && answer.stdin_read).then_some(said)
}

/// The arguments of a call as they are for one that a person agreed to: confirmed to the application too, where the host asks itself.
pub(crate) fn confirmed(package: &Package, arguments: Vec<String>) -> Vec<String> {
    match repair::asks_itself(package, &arguments) && repair::is_confirmed(package, &arguments) {
        true => repair::with_confirm(arguments),
        false => arguments,
    }
}

/// Whether the application itself reads standard input in this call: it takes a batch, as the host does for those that do not, or what `-`
/// stands for.
fn reads_input(package: &Package, arguments: &[String]) -> Result<bool, Fault> {
    let given = |flag: &str| arguments.iter().take_while(|word| *word != "--").any(|word| word == flag);
    let (batch, named) = (given("--json-input"), given("-"));
    if !batch && !named {
        return Ok(false);
    }
    let file = package.contract().map_err(|error| Fault::from(hutch::Failure::from(error).report()))?;
    let Some(contract) = file.map(ContractFile::contract) else { return Ok(false) };
    let command = contract.read_arguments(arguments).command;
    let mut declared = command.iter().flat_map(|command| &command.parameters).chain(&contract.parameters);
    let takes_batch = batch && declared.any(|one| one.name == "json-input" && one.value_type == ValueType::Boolean);
    Ok(takes_batch || named && command.is_some_and(reads_stdin))
}

pub(crate) fn environment(
    values: Vec<(String, String)>,
    secrets: Vec<String>,
) -> Result<BTreeMap<String, EnvironmentValue>, Fault> {
    EnvironmentValue::all(values, secret_values(&secrets)?)
        .map_err(|name| Fault::usage(format!("{name} is given by --env and by --secret")))
}

/// Secrets, from the program's environment.
pub(crate) fn secret_values(names: &[String]) -> Result<BTreeMap<String, String>, Fault> {
    names.iter().map(|name| Ok((name.clone(), surroundings::environment_value(name)?))).collect()
}
