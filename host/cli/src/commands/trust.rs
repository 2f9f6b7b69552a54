//! `hutch trust`: whom to believe about packages.

use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{TrustAnswer, TrustAnswers, TrustChanged, TrustChecked, TrustRule, TrustShown};
use crate::flags::global::Global;
use crate::package::{packages, signed, trust};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use hutch_model::trust::{Level, Policy, Rule, check_pattern};
use hutch_registry::Signer;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// Show trusted keys and rules
    ///
    /// Or what they come to for one package: an error where it is not trusted enough.
    Show(TrustShowArguments),
    /// Trust a signer, or require trust
    ///
    /// A public key or an identity. What it signed is trusted wherever a rule does not name others. Nothing is needed of any package until a rule asks for it.
    /// An identity is a file with the line `identity ISSUER SUBJECT`, as a certificate of Sigstore names it; a SUBJECT that ends in /*
    /// means all that begin so.
    ///
    /// With --require the least level of what comes from a source instead: local: anything. unsigned: installed. signed: and signed by a key that was
    /// named then. trusted: and signed by a key that is trusted. attested: and such a key says how it was built. Of several rules the
    /// longest counts. A package that lacks it is neither run nor installed.
    Add(TrustAddArguments),
    /// Remove a key or rule
    Remove(TrustRemoveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TrustAddArguments {
    /// Require this level of a source
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    require: Option<Level>,
    /// A trusted key that counts there; may be repeated; all count if none is named
    #[arg(long = "signer", value_name = "NAME", requires = "require")]
    signers: Vec<String>,
    /// What to call the key; or the source: oci://HOST/REPOSITORY, store:SLUG, release:SLUG, a path, or the begin of one up to a / and then *; * alone means every source
    #[arg(value_name = "SOURCE")]
    name: String,
    /// The public key, or the identity
    #[arg(value_name = "KEYFILE", required_unless_present = "require", conflicts_with = "require")]
    key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TrustRemoveArguments {
    /// The name of a key, or the source of a rule
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct TrustShowArguments {
    /// The folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: Option<PathBuf>,
}

/// The levels by their names.
fn levels() -> impl TypedValueParser<Value = Level> {
    let named = |word: String| Level::ALL.into_iter().find(|level| level.text() == word).ok_or("no such level");
    PossibleValuesParser::new(Level::ALL.map(Level::text)).try_map(named)
}

pub(crate) fn trust(global: &Global, own: TrustCommand, output: &Output) -> Result<ExitCode, Fault> {
    let (name, changed) = match own {
        TrustCommand::Show(TrustShowArguments { package: Some(package) }) => return check(global, &package, output),
        TrustCommand::Show(_) => {
            let (policy, path) = (shown(&trust::policy(global)?), trust::path(global)?.display().to_string());
            let result = TrustAnswer { policy, path };
            return output.answer("trust show", TrustAnswers::Policy(result), human::fields);
        }
        TrustCommand::Add(own) => ("trust add", add(global, own)?),
        TrustCommand::Remove(own) => {
            if !global.yes && !global.dry_run {
                let report =
                    ErrorReport::new(ErrorCode::ConfirmationRequired, format!("{} would be removed", own.name))
                        .suggest("ask the user, then repeat the call with --yes");
                return Err(repair::again(report, &global.line, 0).into());
            }
            ("trust remove", trust::change(global, |policy| remove(policy, &own.name))?)
        }
    };
    if changed && !global.dry_run {
        output.done(Done::changed(global.line.elsewhere(["trust", "show"])));
    }
    let result = TrustChanged { policy: shown(&trust::policy(global)?), changed, dry_run: global.dry_run };
    let told = human::sentence(&[
        "{changed!}nothing changes; ",
        "{changed?}the rules {dry_run?would change|are changed}; ",
        "hutch trust show tells them",
    ]);
    output.answer(name, result, told)
}

/// A policy by its names: keys without their text, and rules by their sources.
fn shown(policy: &Policy) -> TrustShown {
    let hint = |pem: &String| Signer::parse(pem).map(|key| key.name()).unwrap_or_default();
    let rule = |rule: &Rule| TrustRule { require: rule.require.text(), signers: rule.signers.clone() };
    TrustShown {
        keys: policy.keys.iter().map(|(name, pem)| (name.clone(), hint(pem))).collect(),
        rules: policy.rules.iter().map(|one| (one.pattern.clone(), rule(one))).collect(),
    }
}

fn add(global: &Global, own: TrustAddArguments) -> Result<bool, Fault> {
    let key = match (own.require, own.key) {
        (Some(level), _) => return require(global, level, &own.name, own.signers),
        (None, Some(key)) => key,
        (None, None) => return Err(Fault::usage("name the file of the key")),
    };
    let name = Slug::parse(&own.name).map_err(|error| Fault::usage(format!("SOURCE: {error}")))?.to_string();
    let pem = signed::key(global, &key)?.text();
    trust::change(global, |policy| match policy.keys.get(&name) {
        Some(known) if *known == pem => Ok(false),
        Some(_) => Err(Fault::new(ErrorCode::AlreadyExists, format!("another key is called {name:?}"))
            .suggest("choose another name, or remove that key first")),
        None => {
            policy.keys.insert(name, pem);
            Ok(true)
        }
    })
}

fn require(global: &Global, level: Level, source: &str, signers: Vec<String>) -> Result<bool, Fault> {
    let pattern = trust::pattern(source);
    check_pattern(&pattern).map_err(|error| Fault::usage(format!("SOURCE: {error}")))?;
    let signers: BTreeSet<String> = signers.into_iter().collect();
    if !signers.is_empty() && level < Level::Trusted {
        return Err(Fault::usage(
            "--signer says whose signature makes a package trusted, so the level must be trusted or attested",
        ));
    }
    let rule = Rule { pattern, require: level, signers };
    trust::change(global, |policy| {
        if let Some(name) = rule.signers.iter().find(|name| !policy.keys.contains_key(*name)) {
            return Err(Fault::new(ErrorCode::NotFound, format!("no key is called {name:?}"))
                .suggest("name one that hutch trust show shows, or add it first"));
        }
        let before = policy.rules.iter().position(|known| known.pattern == rule.pattern);
        let before = before.map(|at| policy.rules.remove(at));
        let changed = before.as_ref() != Some(&rule);
        policy.rules.push(rule);
        Ok(changed)
    })
}

fn remove(policy: &mut Policy, name: &str) -> Result<bool, Fault> {
    if policy.keys.contains_key(name) {
        if let Some(rule) = policy.rules.iter().find(|rule| rule.signers.contains(name)) {
            let message = format!("the rule for {} names the key {name:?}", rule.pattern);
            return Err(Fault::new(ErrorCode::Conflict, message).suggest("change or remove that rule first"));
        }
        policy.keys.remove(name);
        return Ok(true);
    }
    let pattern = trust::pattern(name);
    let before = policy.rules.len();
    policy.rules.retain(|rule| rule.pattern != pattern);
    match policy.rules.len() == before {
        true => Err(Fault::new(ErrorCode::NotFound, format!("there is no key and no rule {name:?}"))
            .suggest("name one that hutch trust show shows")),
        false => Ok(true),
    }
}

fn check(global: &Global, package: &Path, output: &Output) -> Result<ExitCode, Fault> {
    let place = packages::place(global, package)?;
    let policy = trust::policy(global)?;
    let judged = trust::judge(&policy, &place);
    trust::enough(&judged, &place.word())?;
    let result = TrustChecked {
        level: judged.level.text(),
        required: judged.required.text(),
        rule: judged.rule.map(|rule| rule.pattern.clone()),
        signer: judged.signer.map(str::to_owned),
        attester: judged.attester.map(str::to_owned),
    };
    output.answer("trust show", TrustAnswers::Package(result), human::fields)
}
