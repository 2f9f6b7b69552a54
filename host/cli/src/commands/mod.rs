//! One file for each command.

pub(crate) mod apply;
pub(crate) mod catalog;
pub(crate) mod certify;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod examples;
pub(crate) mod explain_error;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod gc;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod instance;
pub(crate) mod instances;
pub(crate) mod issue;
pub(crate) mod key;
pub(crate) mod ledger;
pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod mcp;
pub(crate) mod meta;
pub(crate) mod pack;
pub(crate) mod plan;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod serve;
mod served;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod skills;
pub(crate) mod soundness;
pub(crate) mod state;
mod templates;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod validate;
pub(crate) mod verify;

use crate::arguments::{Arguments, Command, Global};
use crate::fault::Fault;
use crate::input::{self, Source};
use crate::output::Output;
use crate::packages;
use crate::progress;
use crate::ring;
use crate::signed::Says;
use hutch::package::Package;
use hutch_model::limits::Limit;
use install::Kind;
use std::path::Path;
use std::process::ExitCode;

/// Carries out a command and gives the exit status.
pub(crate) fn run(mut arguments: Arguments, output: &Output) -> ExitCode {
    let ringed =
        ring::of(&arguments.command, arguments.global.ring).and_then(|asked| ring::begin(asked).map(|()| asked));
    match ringed {
        Ok(asked) => arguments.global.ring = asked,
        Err(fault) => return output.fail(&fault),
    }
    let global = &arguments.global;
    let _step = long(&arguments.command).map(progress::during);
    let done = match arguments.command {
        Command::Run(own) => run::run(global, *own, output),
        Command::Validate(own) => validate::validate(global, *own, output),
        Command::Plan(own) => plan::plan(global, *own, output),
        Command::Apply(own) => apply::apply(global, &own, output),
        Command::Undo(own) => undo::undo(global, &own, output),
        Command::Replay(own) => replay::replay(global, &own, output),
        Command::Verify(own) => verify::verify(global, &own, output),
        Command::Map(own) => map::map(global, *own, output),
        Command::Ledger(own) => ledger::ledger(global, &own, output),
        Command::State(own) => state::state(global, &own, output),
        Command::Instance(own) => instances::instance(global, own, output),
        Command::Gc(own) => gc::gc(global, &own, output),
        Command::Check(own) => check::check(global, &own, output),
        Command::Catalog(own) => catalog::catalog(global, &own, output),
        Command::Find(own) => find::find(global, &own, output),
        Command::Index(own) => index::index(global, own, output),
        Command::Show(own) => show::show(global, &own, output),
        Command::Meta(own) => meta::meta(global, &own, output),
        Command::Mcp(own) => mcp::mcp(global, &own, output),
        Command::Serve(own) => serve::serve(global, &own, output),
        Command::Examples(own) => examples::examples(global, &own, output),
        Command::ExplainError(own) => explain_error::explain_error(global, &own, output),
        Command::Install(own) => install::install(global, &own, output, Kind::Install),
        Command::Update(own) => install::install(global, &own, output, Kind::Update),
        Command::List(own) => install::list(global, &own, output),
        Command::Remove(own) => install::remove(global, &own, output),
        Command::Lock(own) => lock::lock(global, &own, output),
        Command::Sync(own) => lock::sync(global, &own, output),
        Command::Push(own) => push::push(global, &own, output),
        Command::Pull(own) => pull::pull(global, &own, output),
        Command::Key(own) => key::key(global, own, output),
        Command::Trust(own) => trust::trust(global, own, output),
        Command::Sign(own) => sign::sign(global, &own, output, Says::Signed),
        Command::Attest(own) => sign::sign(global, &own, output, Says::Built),
        Command::Signatures(own) => sign::signatures(global, &own, output),
        Command::Pack(own) => pack::pack(global, &own, output),
        Command::Compile(own) => compile::compile(global, &own, output),
        Command::Export(own) => export::export(global, &own, output),
        Command::Dev(own) => dev::dev(global, &own, output),
        Command::Init(own) => init::init(global, &own, output),
        Command::Skills(own) => skills::skills(&own, output),
        Command::Issue(own) => issue::issue(global, own, output),
        Command::Completions(own) => shell::completions(&own, output),
        Command::Man(own) => shell::man(&own, output),
        Command::Doctor => doctor::doctor(global, output),
        Command::Certify(own) => certify::certify(global, &own, output),
        Command::CompileComponent => {
            let bytes_max = Limit::Component.info().ceiling + hutch_sandbox::CHILD_HEADER_BYTES;
            input::read(Source::Stdin, bytes_max, global.wait).and_then(|given| {
                let compiled = hutch_sandbox::compile_as_child(&given);
                compiled.map(|()| ExitCode::SUCCESS).map_err(|error| Fault::host(error.to_string()))
            })
        }
    };
    done.unwrap_or_else(|fault| output.fail(&ring::told(fault)))
}

/// What to say of a command that may take long by itself. What a guest takes is noticed where it runs.
fn long(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Verify(_) => "verify",
        Command::Map(_) => "map",
        Command::Ledger(_) => "ledger",
        Command::State(_) => "state",
        Command::Instance(_) => "instance",
        Command::Gc(_) => "gc",
        Command::Check(_) => "check",
        Command::Catalog(_) => "catalog",
        Command::Find(_) => "find",
        Command::Index(_) => "index",
        Command::Install(_) => "install",
        Command::Update(_) => "update",
        Command::Sync(_) => "sync",
        Command::Push(_) => "push",
        Command::Pull(_) => "pull",
        Command::Show(_) => "show",
        Command::Sign(_) => "sign",
        Command::Attest(_) => "attest",
        Command::Signatures(_) => "signatures",
        Command::Pack(_) => "pack",
        Command::Compile(_) => "compile",
        Command::Export(_) => "export",
        Command::Doctor => "doctor",
        Command::Certify(_) => "certify",
        _ => return None,
    })
}

/// The package that a word on the command line means: a folder, a packed file, or an installed package.
fn open_package(global: &Global, path: &Path, component_bytes_max: Option<u64>) -> Result<Package, Fault> {
    packages::open(global, path, component_bytes_max)
}
