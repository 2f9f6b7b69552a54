//! Instances, and packages, in a PostgreSQL database that many machines share, with the promises of the other stores: what is committed is whole or not
//! there, nothing is lost or done twice, the ledger is one chain. The only crate that knows PostgreSQL. Reads no environment: addresses,
//! passwords and randomness are handed in.
//!
//! A commit: what of the new state is not there is found and read first, without a lock; then the instance's row is locked, the record is held
//! against the state that it has, and objects, entry and new head are written and committed together. Whoever comes second waits for that row and for nothing else. If the answer to COMMIT is lost, the row is locked anew, by which
//! the server has decided, and the entry is looked for.
//!
//! There are row locks only, no session state and no named statements, so a pooler may hand each transaction to another connection.
//! Connections are not encrypted: other machines' servers are connected to only where `sslmode=disable` says that the network is trusted.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod address;
mod check;
mod collect;
mod database;
mod failure;
mod instance;
mod ledger;
mod memo;
mod objects;
mod packages;
mod passfile;
#[cfg(unix)]
mod reach;
mod row;
mod schema;
mod transaction;
mod wire;

pub use address::{Address, AddressError, Place};
pub use database::{About, Database, Known, Opening, Password};
pub use instance::PostgresStore;
pub use packages::{KeptPackage, PackageFiles};
#[cfg(unix)]
pub use reach::{Connector, connect_for};
