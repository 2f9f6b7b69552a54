//! Instances in a PostgreSQL database: what is connected to, and with which password.

use crate::answers::DoctorCheck;
use crate::flags::database::{Connected, VARIABLE, fastest};
use crate::machine::health::check as told;
use crate::machine::input;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use hutch::Failure;
use hutch::instances::Instance;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_store_postgres::{Address, Database, Opening, Password};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
#[cfg(unix)]
use {
    crate::machine::reach::{self, Reached},
    hutch_store_postgres::Connector,
    std::os::fd::OwnedFd,
    std::os::unix::net::UnixStream,
    std::process::Stdio,
};

/// Connections of a command that ends, and of one that stays. A run needs one, and another if it undoes or imports much.
const CONNECTIONS_MAX: usize = 2;
const CONNECTIONS_LONG_MAX: usize = 8;
/// The longest file of passwords.
const PASSWORDS_BYTES_MAX: u64 = 1 << 20;

pub(super) fn connect(
    setting: &OsStr,
    wait: Duration,
    (is_long, makes_tables): (bool, bool),
) -> Result<Connected, Fault> {
    database(setting, wait, (is_long, makes_tables)).map(Connected::Database)
}

fn wrong(reason: &str) -> Fault {
    let report = ErrorReport::new(ErrorCode::Usage, format!("{VARIABLE}: {reason}"));
    Fault::from(report.suggest(
        "set it as postgres://USER@HOST/DATABASE or s3://BUCKET/FOLDER, or unset it for instances of the home",
    ))
}

fn address(setting: &OsStr) -> Result<Address, Fault> {
    let text = setting.to_str().ok_or_else(|| wrong("is not UTF-8"))?;
    Address::parse(text).map_err(|error| wrong(&error.to_string()))
}

/// How much longer than it may take to connect the process that does it may say nothing.
#[cfg(unix)]
const ANSWERED_AFTER: Duration = Duration::from_secs(5);

/// The process that connects while this one serves, behind rings.
#[cfg(unix)]
fn connector(wait: Duration) -> Result<Arc<Connector>, Fault> {
    let failed = |error: std::io::Error| Fault::host(format!("{VARIABLE}: {error}"));
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    reach::started(Reached::Database, wait, (OwnedFd::from(theirs).into(), Stdio::null()))?;
    Ok(Arc::new(Connector::new(ours, wait + ANSWERED_AFTER).map_err(failed)?))
}

#[cfg(unix)]
pub(super) fn connect_for_another(setting: &OsStr, wait: Duration) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault::host(format!("{VARIABLE}: {error}"));
    let asked = surroundings::standard_input().map_err(failed)?;
    hutch_store_postgres::connect_for(asked.into(), &address(setting)?, wait).map_err(failed)
}

#[cfg(not(unix))]
pub(super) fn connect_for_another(_: &OsStr, _: Duration) -> Result<(), Fault> {
    Err(Fault::usage("each process connects by itself here"))
}

fn database(setting: &OsStr, wait: Duration, (is_long, makes_tables): (bool, bool)) -> Result<Arc<Database>, Fault> {
    let address = address(setting)?;
    let variable = |name: &str| surroundings::database_variable(name).and_then(|value| value.into_string().ok());
    let user = address.user.clone().or_else(|| variable("PGUSER")).or_else(|| variable("USER"));
    let user = user.ok_or_else(|| wrong("names no role, and neither does PGUSER"))?;
    let password = match variable("PGPASSWORD") {
        Some(password) => Some(Password::new(password)),
        None => kept_password(&address, &user, wait)?,
    };
    let connections_max = if is_long { CONNECTIONS_LONG_MAX } else { CONNECTIONS_MAX };
    let opening = Opening {
        user,
        password,
        wait,
        connections_max,
        makes_tables,
        // A command that ends has what it connected to before its rings were up.
        #[cfg(unix)]
        connector: is_long.then(|| connector(wait)).transpose()?,
    };
    Ok(Database::connect(address, opening).map_err(Failure::from)?)
}

/// The password that the person's file has for a database. Who could read the file could use it.
fn kept_password(address: &Address, user: &str, wait: Duration) -> Result<Option<Password>, Fault> {
    let named = surroundings::database_variable("PGPASSFILE").map(PathBuf::from);
    let is_named = named.is_some();
    let Some(path) = named.or_else(surroundings::passwords) else { return Ok(None) };
    #[expect(clippy::disallowed_methods, reason = "the operator names the file by its path")]
    let metadata = match path.metadata() {
        Err(_) if !is_named => return Ok(None),
        metadata => metadata.map_err(|error| Fault::unreadable(&path, &error))?,
    };
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0 {
        return Err(Fault::new(ErrorCode::PermissionDenied, format!("{}: others can read it", path.display()))
            .suggest("take that away with chmod 600"));
    }
    #[cfg(not(unix))]
    let _ = metadata;
    let bytes = input::whole(&path, PASSWORDS_BYTES_MAX, wait)?;
    Ok(address.password_in(&String::from_utf8_lossy(&bytes), user))
}

pub(super) fn listed(database: &Database) -> Result<Vec<Instance>, Fault> {
    let known = database.instances().map_err(Failure::from)?;
    Ok(known.into_iter().map(|known| Instance { slug: known.slug, name: known.name, bytes: known.bytes }).collect())
}

/// What there is to say of the database that the environment names.
pub(super) fn doctored(setting: &OsStr, wait: Duration) -> Vec<DoctorCheck> {
    let looked = database(setting, wait, (false, false)).and_then(|database| {
        let about = database.about().map_err(Failure::from)?;
        Ok((about, fastest(|| database.ping()).map_err(Failure::from)?))
    });
    let (about, fastest) = match looked {
        Ok(looked) => looked,
        Err(fault) if fault.report().code == ErrorCode::NotFound => {
            let found = format!("{}: they are made when they are first needed", fault.report().message);
            return vec![told(VARIABLE, "ok", found, None)];
        }
        Err(fault) => {
            let (found, fix) = (fault.report().message.clone(), fault.report().suggestion.clone());
            return vec![told(VARIABLE, "bad", found, Some(&fix))];
        }
    };
    let trip = format!("{:.1} ms there and back", fastest.as_secs_f64() * 1000.0);
    let found = format!("PostgreSQL {}, tables of version {}, {trip}", about.version, about.schema);
    let server = match about.is_copy {
        true => told(
            VARIABLE,
            "bad",
            format!("{found}; a copy that takes no writes"),
            Some("name the server that it is a copy of"),
        ),
        false => told(VARIABLE, "ok", found, None),
    };
    let found = format!("fsync is {}, synchronous_commit is {}", about.fsync, about.synchronous_commit);
    let is_durable = about.fsync == "on";
    let durable = match is_durable {
        true => told("store is durable", "ok", format!("{found}; changes are synced in any case"), None),
        false => told(
            "store is durable",
            "bad",
            found,
            Some("set fsync on: what was answered can be lost with the power, or all of it"),
        ),
    };
    vec![server, durable]
}
