//! The database that the tests are given, and stores in it that no other test has.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of tests is a test")]

use hutch_store_postgres::{Address, Database, Opening, PostgresStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The database's address.
pub(crate) fn url() -> String {
    std::env::var("HUTCH_TEST_POSTGRES").expect("HUTCH_TEST_POSTGRES names a database: see tests/postgres/run")
}

/// How these tests use it.
pub(crate) fn opening() -> Opening {
    let user = "hutch".to_owned();
    let wait = Duration::from_secs(10);
    Opening { user, password: None, wait, connections_max: 4, makes_tables: true, connector: None }
}

/// A connected database.
pub(crate) fn database() -> Arc<Database> {
    Database::connect(Address::parse(&url()).unwrap(), opening()).unwrap()
}

/// A store that no other test has.
pub(crate) fn store() -> PostgresStore {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let name = format!("t{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed));
    database().store(&hutch_model::names::Slug::parse("todo").unwrap(), &name.parse().unwrap(), [7; 32])
}
