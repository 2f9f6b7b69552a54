//! The tables, and how older ones become the present ones. Never change a migration that was released: add one.
//!
//! No table names another's rows as its own (no foreign keys): each entry and each object would lock its instance's row for that, which is the
//! one that all wait for.

use crate::row::Value;
use crate::wire::{Connection, WireError};
use hutch_store::StoreError;

/// Each is applied once, in order, as statements.
const MIGRATIONS: &[&[&str]] = &[
    // 1: the store.
    &[
        // The head of each instance, in one row: what is locked, and all that a reader needs first. `standing` is JSON: what the entries
        // lead to. `removals` counts whatever took objects away. `tenant` is the role that it belongs to: the one that made
        // it, or that this one stands for.
        "CREATE TABLE hutch_instances (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant name NOT NULL
            DEFAULT coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user),
            package text NOT NULL, name text NOT NULL, secret_key bytea NOT NULL, sequence bigint NOT NULL, hash bytea NOT NULL, standing text NOT NULL,
            changed bigint NOT NULL, retained_from bigint NOT NULL, removals bigint NOT NULL,
            UNIQUE (tenant, package, name)) WITH (fillfactor = 50)",
        // Append-only. `bytes` is canonical JSON, `hash` its digest; `at_ns` repeats its instant for retention.
        "CREATE TABLE hutch_entries (
            instance bigint NOT NULL, sequence bigint NOT NULL, hash bytea NOT NULL, at_ns bigint NOT NULL,
            bytes bytea NOT NULL, PRIMARY KEY (instance, sequence), UNIQUE (instance, hash))",
        // Each entry that changed a volume, and to what.
        "CREATE TABLE hutch_moves (
            instance bigint NOT NULL, volume text NOT NULL, sequence bigint NOT NULL, tree bytea NOT NULL,
            PRIMARY KEY (instance, volume, sequence))",
        // Immutable, named by content, of one instance: nobody learns from a digest what another instance has. Kinds: 1 chunk, 2 list,
        // 3 tree, 4 stream. What is longer than a part has several.
        "CREATE TABLE hutch_objects (
            instance bigint NOT NULL, digest bytea NOT NULL, part bigint NOT NULL, kind bigint NOT NULL,
            bytes bytea NOT NULL, PRIMARY KEY (instance, digest, part))",
        // Not compressed: reading parts of it would need all of it.
        "ALTER TABLE hutch_objects ALTER bytes SET STORAGE EXTERNAL",
        // Outcomes of calls that may be used again. `place` and `role` say in which order they came and who put them there: for that
        // nobody is to be granted more than to insert the other columns.
        "CREATE TABLE hutch_memo (
            instance bigint NOT NULL, key bytea NOT NULL, place bigint GENERATED ALWAYS AS IDENTITY,
            role text NOT NULL DEFAULT current_user, value bytea NOT NULL, PRIMARY KEY (instance, key))",
        "CREATE INDEX hutch_memo_places ON hutch_memo (instance, place)",
        "ALTER TABLE hutch_memo ALTER value SET STORAGE EXTERNAL",
        // For every role but the one that made the tables, whatever it asks: the instances of roles that it is a member of, and what belongs
        // to them.
        "ALTER TABLE hutch_instances ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_instances
            USING (pg_has_role(to_regrole(quote_ident(tenant)), 'member'))",
        "ALTER TABLE hutch_entries ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_entries
            USING (EXISTS (SELECT 1 FROM hutch_instances own WHERE own.id = instance))",
        "ALTER TABLE hutch_moves ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_moves
            USING (EXISTS (SELECT 1 FROM hutch_instances own WHERE own.id = instance))",
        "ALTER TABLE hutch_objects ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_objects
            USING (EXISTS (SELECT 1 FROM hutch_instances own WHERE own.id = instance))",
        "ALTER TABLE hutch_memo ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_memo
            USING (EXISTS (SELECT 1 FROM hutch_instances own WHERE own.id = instance))",
    ],
    // 2: packages.
    &[
        // Immutable, named by content. `run` is what entries call it. `place` and `role` say in which order they came and who put them there.
        "CREATE TABLE hutch_packages (
            tenant name NOT NULL DEFAULT coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user),
            digest bytea NOT NULL, run bytea NOT NULL, slug text NOT NULL, version text NOT NULL,
            place bigint GENERATED ALWAYS AS IDENTITY, role text NOT NULL DEFAULT current_user, PRIMARY KEY (tenant, digest))",
        "CREATE INDEX hutch_packages_slugs ON hutch_packages (tenant, slug)",
        // The packed file has no name; a signature is named by its digest.
        "CREATE TABLE hutch_package_files (
            tenant name NOT NULL DEFAULT coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user),
            package bytea NOT NULL, file bytea NOT NULL, part bigint NOT NULL, bytes bytea NOT NULL,
            PRIMARY KEY (tenant, package, file, part))",
        "ALTER TABLE hutch_package_files ALTER bytes SET STORAGE EXTERNAL",
        "ALTER TABLE hutch_packages ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_packages
            USING (pg_has_role(to_regrole(quote_ident(tenant)), 'member'))",
        "ALTER TABLE hutch_package_files ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY hutch_tenant ON hutch_package_files
            USING (pg_has_role(to_regrole(quote_ident(tenant)), 'member'))",
    ],
    // 3: outcomes are looked for beside all instances of a tenant.
    &["CREATE INDEX hutch_memo_keys ON hutch_memo (key)"],
];

/// Who makes the tables does so alone: "hutch" as a number.
const TURN: &str = "SELECT pg_advisory_xact_lock(448378496872)";
const VERSION: &str = "SELECT coalesce(max(version), 0) FROM hutch_schema";
/// There is no such table.
const ABSENT: &str = "42P01";

fn latest() -> u64 {
    MIGRATIONS.len() as u64
}

/// The version of the tables; 0 if there are none.
pub(crate) fn version(connection: &mut Connection) -> Result<u64, WireError> {
    match connection.rows(VERSION, &[]) {
        Ok(rows) => Ok(rows.first().map_or(Ok(0), |row| row.number(0))?),
        Err(WireError::Refused { state, .. }) if state == ABSENT => Ok(0),
        Err(error) => Err(error),
    }
}

/// Refuses tables of a newer version; whether there are all of this one.
pub(crate) fn is_current(at: &str, version: u64) -> Result<bool, StoreError> {
    match version {
        found if found > latest() => Err(StoreError::TooNew {
            at: at.to_owned(),
            what: format!("the store has schema version {found}"),
            known: format!("versions up to {}", latest()),
        }),
        found => Ok(found == latest()),
    }
}

/// Makes the tables that are missing, in one transaction, one at a time.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), WireError> {
    connection.run(&[("BEGIN", &[]), (TURN, &[])])?;
    let made = (|| {
        connection.rows("CREATE TABLE IF NOT EXISTS hutch_schema (version bigint PRIMARY KEY)", &[])?;
        let applied = version(connection)?;
        for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > applied) {
            for statement in *migration {
                connection.rows(statement, &[])?;
            }
            let number = crate::row::signed(number);
            connection.rows("INSERT INTO hutch_schema VALUES ($1)", &[Value::Number(number)])?;
        }
        Ok(())
    })();
    let end = if made.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.rows(end, &[]);
    made.and_then(|()| ended.map(drop))
}
