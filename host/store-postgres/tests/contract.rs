//! What every store promises, asked of one in PostgreSQL. HUTCH_TEST_POSTGRES names a database in which nothing else is: tests/postgres/run
//! starts a server and names it.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../../store/tests/contract/cases.rs"]
mod cases;
#[path = "../../store/tests/contract/collecting.rs"]
mod collecting;
#[path = "../../store/tests/common/mod.rs"]
mod common;
mod given;

/// The kind of store that is asked here.
mod kinds {
    use crate::given::store;
    use hutch_store::{MemoryStore, Store};
    use std::sync::Arc;

    /// Runs `test` on an empty store, and on a preview over one, which it must leave as it was.
    pub(crate) fn each_store(test: impl Fn(&dyn Store)) {
        test(&store());
        let below: Arc<dyn Store> = Arc::new(store());
        test(&MemoryStore::over(below.clone()));
        assert!(!below.is_there().unwrap(), "a preview changed what is below it");
    }

    /// Runs `test` on an empty store.
    pub(crate) fn each_keeper(test: impl Fn(&dyn Store)) {
        test(&store());
    }
}
