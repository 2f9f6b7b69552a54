//! What a package's contract expects of a call: its arguments before the guest starts, its answer after it ended.

use crate::failure::Failure;
use crate::output_schema;
use crate::package::{Package, PackageError};
use hutch_model::contract::{self as model, About, ArgumentViolation, Asked, Effect, ReadArguments, ViolationKind};
use hutch_model::error_code::ErrorCode;
use hutch_model::outcome::{Contract, Outcome, Verdict};
use serde_json::Value;
use std::borrow::Cow;

/// How the arguments of a call break the contract of its package. Nothing is known of a package without a contract.
///
/// # Errors
/// The package was changed since it was opened.
pub fn argument_violations(package: &Package, arguments: &[String]) -> Result<Vec<ArgumentViolation>, PackageError> {
    Ok(held(package, arguments)?.0)
}

/// The same, and the name of the command that they call, if that is one that only reads.
fn held(package: &Package, arguments: &[String]) -> Result<(Vec<ArgumentViolation>, Option<String>), PackageError> {
    let take = |read: ReadArguments<'_>| {
        let reads = read.command.filter(|command| command.effect == Effect::Read).map(|command| command.name.clone());
        (read.violations, read.asked, reads)
    };
    let (mut violations, asked, reads) = read(package, arguments, take)?.unwrap_or_default();
    if violations.is_empty() {
        // Whoever asks the host has taken these words out before: here they would reach a guest that does not know them.
        violations.extend(asked.words(arguments).map(|(at, word)| ArgumentViolation {
            kind: ViolationKind::UnknownFlag,
            parameter: None,
            index: Some(at),
            message: format!("{word} is answered by hutch run, not by the application"),
            instead: None,
        }));
    }
    Ok((violations, reads))
}

/// What a call asks of the host in the application's place: the flags that every command line has by custom, where the package's contract
/// does not declare them, and `--help` wherever there is a contract, which says all of it. An application without one answers everything
/// itself. Of a call that breaks the contract no word is taken out, so that what is said of it is said of the words that there are.
///
/// # Errors
/// The package was changed since it was opened.
pub fn asked(package: &Package, arguments: &[String]) -> Result<Asked, PackageError> {
    if !model::may_be_asked(arguments) {
        return Ok(Asked::default());
    }
    let sound = |read: ReadArguments<'_>| {
        let mut asked = if read.violations.is_empty() { read.asked } else { read.asked.untaken() };
        if read.about == Some(About::Help) {
            asked.about = read.about;
            asked.human = read.for_people.then_some(true).or(asked.human);
        }
        asked
    };
    Ok(read(package, arguments, sound)?.unwrap_or_default())
}

/// As much of a package's description as these arguments are judged by: at least the command that they call. The whole of it costs as much
/// as a run.
///
/// # Errors
/// The package was changed since it was opened.
pub fn contract_of_call<'p>(
    package: &'p Package,
    arguments: &[String],
) -> Result<Option<Cow<'p, model::Contract>>, PackageError> {
    let leading = package.manifest().entry().arguments();
    let words: Vec<&str> = leading.iter().chain(arguments).map(String::as_str).collect();
    package.contract_of_call(&words)
}

/// Reads arguments as the contract says. Leading arguments of the entry command are the guest's own affair, unless the words of a
/// command begin among them.
fn read<T>(
    package: &Package,
    arguments: &[String],
    take: impl Fn(ReadArguments<'_>) -> T,
) -> Result<Option<T>, PackageError> {
    let Some(mut contract) = contract_of_call(package, arguments)? else { return Ok(None) };
    if contract.read_arguments(arguments).command.is_none() {
        // What is said then names the commands that there are.
        let Some(whole) = package.whole_contract()? else { return Ok(None) };
        contract = whole;
    }
    Ok(Some(read_by(&contract, package, arguments, take)))
}

fn read_by<T>(
    contract: &model::Contract,
    package: &Package,
    arguments: &[String],
    take: impl Fn(ReadArguments<'_>) -> T,
) -> T {
    let leading = package.manifest().entry().arguments();
    let plain = contract.read_arguments(arguments);
    if leading.is_empty() || plain.violations.is_empty() {
        return take(plain);
    }
    let all: Vec<String> = leading.iter().chain(arguments).cloned().collect();
    let mut whole = contract.read_arguments(&all);
    if whole.command.is_none() {
        return take(plain);
    }
    whole.asked = whole.asked.counted_from(leading.len());
    for violation in &mut whole.violations {
        violation.index = violation.index.and_then(|index| index.checked_sub(leading.len()));
    }
    take(whole)
}

/// Refuses a call whose arguments break the contract. Of any other it is the name of the command that changes nothing, if the contract says so of
/// the one that is called: by the very reading by which the call is none that breaks it.
pub(crate) fn check_arguments(package: &Package, arguments: &[String]) -> Result<Option<String>, Failure> {
    let (violations, reads) = held(package, arguments)?;
    if violations.is_empty() { Ok(reads) } else { Err(Failure::Arguments { violations }) }
}

/// The name of that command, of a call that was judged before.
pub(crate) fn reads(package: &Package, arguments: &[String]) -> Result<Option<String>, PackageError> {
    Ok(held(package, arguments)?.1)
}

/// What the output of a call is held to if nobody says it: one JSON document, or anything where the package's contract has answers for
/// people and the call asks for one.
///
/// # Errors
/// The package was changed since it was opened.
pub fn usual_output(package: &Package, arguments: &[String]) -> Result<Contract, PackageError> {
    let for_people = read(package, arguments, |read| read.for_people)?.unwrap_or_default();
    Ok(if for_people { Contract::Any } else { Contract::Json })
}

/// The schema that the answer to these arguments is held to, if it is held to one.
pub(crate) fn schema(package: &Package, contract: Contract, arguments: &[String]) -> Result<Option<Value>, Failure> {
    if contract != Contract::Schema {
        return Ok(None);
    }
    let Some(whole) = package.whole_contract()? else { return Err(Failure::NoSchema) };
    let expected = read_by(&whole, package, arguments, |read| match read.command {
        // Help, and answers for people or with chosen fields, have another shape than the declared one.
        _ if read.about.is_some() || read.shaped => Some(None),
        Some(command) => Some(Some(command.output_schema.clone())),
        None => None,
    });
    expected.ok_or(Failure::NoSchema)
}

/// Judges an outcome as usual, and its answer by the schema that the package's contract declares for these arguments, if it declares one.
///
/// # Errors
/// The package was changed since it was opened.
pub fn verdict_by_schema(
    package: &Package,
    arguments: &[String],
    outcome: &Outcome,
    usual: Contract,
) -> Result<Verdict, Failure> {
    let held = if usual == Contract::Json { Contract::Schema } else { usual };
    let schema = match schema(package, held, arguments) {
        Err(Failure::NoSchema) => None,
        schema => schema?,
    };
    Ok(judge(outcome, usual, schema.as_ref()))
}

/// Judges an outcome by its ending, its form, and the schema if there is one.
pub(crate) fn judge(outcome: &Outcome, contract: Contract, schema: Option<&Value>) -> Verdict {
    let verdict = outcome.verdict(contract);
    match (schema, &verdict) {
        (Some(schema), Verdict::Good) => match output_schema::check(schema, &outcome.stdout) {
            Ok(()) => verdict,
            Err(reason) => Verdict::Bad {
                code: ErrorCode::ContractViolation,
                message: format!("the guest exited with 0, but its answer breaks the declared output schema: {reason}"),
            },
        },
        _ => verdict,
    }
}
