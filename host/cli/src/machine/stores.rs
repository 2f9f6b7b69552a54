//! Where instances are: in the home, or in the database or bucket that HUTCH_STORE names, which other machines use too. It is connected to before
//! the rings are up, which refuse that later.

use crate::answers::DoctorCheck;
use crate::flags::database::{Connected, VARIABLE, stores};
use crate::flags::global::Global;
use crate::machine::bucket;
use crate::machine::needs::Instances;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use hutch::Failure;
use hutch::instances::{Checked, Instance};
use hutch_model::ledger::Pin;
use hutch_model::names::Slug;
use hutch_store::{InstanceName, StoreError};
use std::ffi::OsStr;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(feature = "postgres")]
mod database;
#[cfg(not(feature = "postgres"))]
#[path = "stores/no_database.rs"]
mod database;

/// The database or bucket that a command's instances are in; none if they are in the home, or the command has none.
pub(crate) fn connected(instances: Instances, global: &Global) -> Result<Option<Connected>, Fault> {
    let Some(setting) = surroundings::database_variable(VARIABLE) else { return Ok(None) };
    let is_long = match instances {
        Instances::None => return Ok(None),
        Instances::Anywhere => false,
        Instances::Staying => true,
        Instances::Home => {
            let message = format!(
                "instances in a database or bucket are neither copied, renamed nor purged; {VARIABLE} names one"
            );
            return Err(Fault::usage(message)
                .suggest("unset HUTCH_STORE for instances of the home; to carry one, export and import it"));
        }
        Instances::WholeHome => {
            let message = format!("a backup is of a home with its instances; {VARIABLE} names another place for them");
            return Err(Fault::usage(message).suggest(
                "unset HUTCH_STORE for the instances of the home; back the others up with the tools of their server, or export them",
            ));
        }
    };
    connect(&setting, global.wait, (is_long, !global.dry_run)).map(Some)
}

/// Refuses what works with instances of the home alone where the surroundings name a database.
pub(crate) fn none_named(what: &str) -> Result<(), Fault> {
    match surroundings::database_variable(VARIABLE) {
        None => Ok(()),
        Some(_) => Err(Fault::usage(format!(
            "{what} is of an instance of the home, and {VARIABLE} names another place for them"
        ))
        .suggest("unset HUTCH_STORE, or have what makes the calls set it")),
    }
}

/// The instances that are there.
pub(crate) fn known(global: &Global) -> Result<Vec<Instance>, Fault> {
    match &global.database {
        Some(database) => listed(database),
        None => {
            let home = surroundings::home(global)?;
            hutch::instances::of(&home).map_err(|error| Fault::file(&home, &error))
        }
    }
}

/// The last entry of an instance; none where it can't be read.
pub(crate) fn head(global: &Global, known: &Instance) -> Result<Option<Pin>, Fault> {
    let head = match &global.database {
        Some(database) => stores(database, surroundings::random_seed)(&known.slug, &known.name)
            .and_then(|store| store.head())
            .map_err(Failure::from),
        None => hutch::instances::head(&surroundings::home(global)?, known, global.wait),
    };
    Ok(head.ok().map(|head| head.last))
}

/// Connects to what the setting names, as its beginning says.
fn connect(setting: &OsStr, wait: Duration, how: (bool, bool)) -> Result<Connected, Fault> {
    match bucket::is_named(setting) {
        true => bucket::connect(wait),
        false => database::connect(setting, wait, how),
    }
}

/// The instances that are there.
fn listed(connected: &Connected) -> Result<Vec<Instance>, Fault> {
    match *connected {
        #[cfg(feature = "postgres")]
        Connected::Database(ref database) => database::listed(database),
        #[cfg(feature = "bucket")]
        Connected::Bucket(ref bucket) => bucket::listed(bucket),
    }
}

/// Looks through all that is kept of an instance.
pub(crate) fn check(connected: &Connected, slug: &Slug, instance: &InstanceName) -> Result<Checked, Fault> {
    let store = stores(connected, surroundings::random_seed)(slug, instance).map_err(Failure::from)?;
    if !store.is_there().map_err(Failure::from)? {
        let missing = StoreError::Missing { at: store.at(), what: "instance".to_owned() };
        return Err(Failure::from(missing).into());
    }
    let damages = store.check().map_err(Failure::from)?;
    Ok(Checked { damages, stats: store.stats().ok() })
}

/// What there is to say of what the environment names.
pub(crate) fn doctored(wait: Duration) -> Vec<DoctorCheck> {
    match surroundings::database_variable(VARIABLE) {
        None => Vec::new(),
        Some(setting) if bucket::is_named(&setting) => bucket::doctored(wait),
        Some(setting) => database::doctored(&setting, wait),
    }
}

/// Connects to the database that the environment names, for a process that makes no sockets.
pub(crate) fn connect_for_another(global: &Global) -> Result<ExitCode, Fault> {
    let setting = surroundings::database_variable(VARIABLE).unwrap_or_default();
    database::connect_for_another(&setting, global.wait).map(|()| ExitCode::SUCCESS)
}
