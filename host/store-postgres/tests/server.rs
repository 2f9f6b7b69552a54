//! What only a store in PostgreSQL can be asked: connections that end at any byte of a commit, locks of others, tables of other versions,
//! rows that somebody changed, contents of several parts. HUTCH_TEST_POSTGRES names the database; `psql` must be on PATH.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

#[path = "../../store/tests/common/mod.rs"]
mod common;
mod given;
mod proxy;

use common::*;
use given::{database, opening, store, url};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::EntryKind;
use hutch_model::names::Slug;
use hutch_model::snapshot::{MemoryObjects, ObjectError, Objects};
use hutch_store::{MEMO_BYTES_MAX, Retention, Store, StoreError};
use hutch_store_postgres::{Address, Database, KeptPackage, Opening, PackageFiles, PostgresStore};
use proxy::Proxy;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Carries out SQL as a role, and gives what it prints, or why it is refused.
fn psql_as(role: &str, url: &str, sql: &str) -> Result<String, String> {
    let output =
        Command::new("psql").args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", role, "-c", sql, url]).output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The same as the one that made the tables.
fn psql(url: &str, sql: &str) -> String {
    psql_as("hutch", url, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// A database of its own, empty.
fn empty_database(name: &str) -> String {
    psql(&url(), &format!("DROP DATABASE IF EXISTS {name}"));
    psql(&url(), &format!("CREATE DATABASE {name}"));
    let (server, rest) = url().split_once("/hutch").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    format!("{server}/{name}{rest}")
}

fn connect(url: &str, opening: Opening) -> Result<Arc<Database>, StoreError> {
    Database::connect(Address::parse(url).unwrap(), opening)
}

fn named(database: &Arc<Database>, name: &str) -> PostgresStore {
    database.store(&Slug::parse("todo").unwrap(), &name.parse().unwrap(), [7; 32])
}

/// The outcomes of an instance are found from every machine and from other instances, whole, and are no more than there is room for.
#[test]
fn a_memo_is_shared_replaced_and_bounded() {
    let (one, other) = (named(&database(), "memo"), named(&database(), "memo"));
    let nobody = named(&database(), "memo-of-nobody");
    let memo = |store: &PostgresStore| store.memo(true).unwrap().unwrap();
    let key = |text: &str| Digest::of(Kind::Memo, text.as_bytes());
    // Where there is no instance, nothing is kept and nothing is made.
    memo(&nobody).put(&key("a"), b"value").unwrap();
    assert!(memo(&nobody).get(&[key("a")]).unwrap().is_empty() && !nobody.is_there().unwrap());
    put(&one, &[("a", "0")]);
    put(&nobody, &[("a", "0")]);
    let value = |store: &PostgresStore, text: &str| {
        memo(store).get(&[key("none"), key(text)]).unwrap().pop().map(|found| (found.value, found.role))
    };
    let role = Some("hutch".to_owned());
    memo(&one).put(&key("a"), b"first").unwrap();
    assert_eq!(value(&other, "a"), Some((b"first".to_vec(), role.clone())));
    memo(&other).put(&key("a"), b"").unwrap();
    let found = |store: &PostgresStore| memo(store).get(&[key("a")]).unwrap();
    let instances = |store: &PostgresStore| found(store).into_iter().map(|found| found.instance).collect::<Vec<_>>();
    assert_eq!((value(&one, "a"), instances(&one)), (Some((Vec::new(), role)), vec![None]));
    let unmade = named(&database(), "memo-not-there");
    for elsewhere in [&nobody, &unmade] {
        assert_eq!((found(elsewhere)[0].value.len(), instances(elsewhere)), (0, vec![Some("todo/memo".to_owned())]));
    }
    // What an instance has itself comes first, and stays when it is another's that is replaced.
    memo(&nobody).put(&key("a"), b"own").unwrap();
    assert_eq!((&found(&nobody)[0].value[..], found(&nobody).len()), (&b"own"[..], 2));
    assert_eq!(instances(&one), [None, Some("todo/memo-of-nobody".to_owned())]);
    assert_eq!((memo(&one).stats().unwrap().outcomes, memo(&nobody).stats().unwrap().outcomes), (1, 1));
    memo(&nobody).clear().unwrap();
    assert_eq!(memo(&one).stats().unwrap().outcomes, 1);
    // One that was found to be wrong goes, wherever it is kept.
    memo(&nobody).remove(&key("a")).unwrap();
    assert_eq!((value(&other, "a"), memo(&one).stats().unwrap().outcomes), (None, 0));
    // As another writer would fill it, and what came first goes first.
    let fill = "INSERT INTO hutch_memo (instance, key, value) SELECT id, sha256(n::text::bytea), convert_to(repeat('x', 1 << 20), 'UTF8')
        FROM hutch_instances, generate_series(1, 260) n WHERE name = 'memo'";
    psql(&url(), fill);
    assert!(memo(&other).stats().unwrap().bytes > MEMO_BYTES_MAX);
    let fresh = named(&database(), "memo");
    memo(&fresh).put(&key("last"), b"value").unwrap();
    let stats = memo(&fresh).stats().unwrap();
    assert!(stats.bytes <= MEMO_BYTES_MAX && stats.outcomes == 256, "{stats:?}");
    assert!(value(&other, "last").is_some());
    let first = "SELECT count(*) FROM hutch_memo WHERE key = sha256('1'::bytea) OR key = sha256('260'::bytea)";
    assert_eq!(psql(&url(), first), "1");
    memo(&other).clear().unwrap();
    assert_eq!(memo(&one).stats().unwrap().outcomes, 0);
}

/// Whatever is cut off where: who is told that it is there finds it, who is told that it is not does not, and the next one goes on.
#[test]
fn a_commit_whose_connection_ends_anywhere_is_what_its_answer_says() {
    let proxy = Proxy::start(&url());
    let through = connect(&proxy.url(), opening()).unwrap();
    let (there, here) = (named(&through, "cut"), named(&database(), "cut"));
    put(&there, &[("a", "0")]);
    let (mut kept, mut refused) = (0, 0);
    // What the client sends, then what the server answers; beyond the last byte nothing is cut.
    for direction in [proxy::Direction::Sent, proxy::Direction::Answered] {
        let (mut step, mut uncut) = (1, 0);
        for number in 0.. {
            let before = here.head().unwrap();
            let mut objects = no_objects();
            let after = volume(&mut objects, &[("a", &format!("{direction:?} {number}"))]);
            proxy.cut_after(direction, step);
            let answer = there.commit(&change(before.state.get("state").copied(), after), &objects, &[b"stream"]);
            let was_cut = proxy.heal();
            let now = here.head().unwrap();
            let is_there = now.last.sequence == before.last.sequence + 1;
            match &answer {
                Ok(sealed) => assert!(is_there && now.last == sealed.pin(), "{direction:?} {step}: lost"),
                Err(StoreError::Uncertain { .. }) => panic!("{direction:?} {step}: the server could be asked"),
                Err(error) => assert!(now == before, "{direction:?} {step}: there, and said not to be: {error}"),
            }
            kept += usize::from(is_there);
            refused += usize::from(!is_there);
            // Who is cut off while reading asks again through another connection, so the same length may end elsewhere.
            uncut = if was_cut { 0 } else { uncut + 1 };
            if uncut == 10 {
                break;
            }
            step += 13;
        }
    }
    println!("{kept} commits kept, {refused} refused, each as it was told");
    assert!(kept > 20 && refused > 50, "{kept} kept, {refused} refused");
    assert_eq!(here.check().unwrap(), []);
    // What refused commits had put there, a collector takes.
    let keep = Retention { keep_last: 100_000, newer_than: None };
    here.collect(&keep, &record(EntryKind::Collect, 9)).unwrap();
    assert_eq!(here.collectable(&keep).unwrap().objects, 0);
    assert_eq!(here.check().unwrap(), []);
}

/// What was carried out although nobody was told so is found out, and what was not asked for is not there.
#[test]
fn a_commit_whose_answer_is_lost_is_asked_for() {
    let proxy = Proxy::start(&url());
    let through = connect(&proxy.url(), opening()).unwrap();
    let (there, here) = (named(&through, "lost"), named(&database(), "lost"));
    let mut before = put(&there, &[("a", &here.head().unwrap().last.sequence.to_string())]);
    for round in 0..5 {
        for (direction, is_kept) in [(proxy::Direction::Answered, true), (proxy::Direction::Sent, false)] {
            let mut objects = no_objects();
            let after = volume(&mut objects, &[("a", &format!("{direction:?} {round} {before}"))]);
            let last = here.head().unwrap().last;
            proxy.cut_commit(direction);
            let answer = there.commit(&change(Some(before), after), &objects, &[]);
            assert!(proxy.heal(), "nothing was cut");
            let now = here.head().unwrap().last;
            assert_eq!(now.sequence, last.sequence + u64::from(is_kept), "{direction:?}");
            match (answer, is_kept) {
                (Ok(sealed), true) => assert_eq!(sealed.pin(), now),
                (Err(StoreError::Failed { .. }), false) => {}
                (answer, _) => panic!("{direction:?}: {answer:?}"),
            }
            before = state(&here).unwrap();
        }
    }
    assert_eq!(here.check().unwrap(), []);
}

/// Objects during whose reading something else happens, once.
struct Meddled<'a> {
    objects: &'a MemoryObjects,
    meddle: &'a (dyn Fn() + Sync),
    is_done: AtomicBool,
}

impl Objects for Meddled<'_> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        if kind == Kind::Chunk && !self.is_done.swap(true, Ordering::SeqCst) {
            (self.meddle)();
        }
        self.objects.get(kind, digest)
    }
}

/// What was there when it was asked for, and is taken away before the record is appended, is put there again.
#[test]
fn what_a_collector_takes_while_a_record_is_on_its_way_comes_again() {
    let store = store();
    put(&store, &[("d/e/f", "once")]);
    // What the last entry began with stays too.
    put(&store, &[("b", "0")]);
    let now = put(&store, &[("a", "1")]);
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("d/e/f", "once"), ("new", "2")]);
    let taken = || {
        let keep = Retention { keep_last: 1, newer_than: None };
        let (collected, _) = store.collect(&keep, &record(EntryKind::Collect, 9)).unwrap();
        assert!(collected.objects >= 3, "the folder d was taken: {collected:?}");
    };
    let meddled = Meddled { objects: &objects, meddle: &taken, is_done: AtomicBool::new(false) };
    store.commit(&change(Some(now), after), &meddled, &[]).unwrap();
    assert!(meddled.is_done.into_inner());
    assert_eq!(text(&*store.objects(), &after, "d/e/f").as_deref(), Some("once"));
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn who_waits_too_long_for_another_is_told_so_and_readers_wait_for_nobody() {
    let held = store();
    let before = put(&held, &[("a", "1")]);
    let slow = connect(&url(), Opening { wait: Duration::from_millis(200), ..opening() }).unwrap();
    let name = held.at().rsplit_once('/').unwrap().1.to_owned();
    let other = named(&slow, &name);
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("a", "2")]);
    let pending = held.begin(&change(Some(before), after), &objects, &[]).unwrap();
    let error = other.commit(&change(Some(before), after), &objects, &[]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InstanceBusy, "{error}");
    assert_eq!(state(&other), Some(before));
    assert_eq!(text(&*other.objects(), &before, "a").as_deref(), Some("1"));
    pending.commit().unwrap();
    assert_eq!(other.commit(&change(Some(before), after), &objects, &[]).unwrap_err().code(), ErrorCode::Conflict);
}

#[test]
fn what_is_long_comes_back_from_its_parts() {
    let store = store();
    let long: Vec<u8> = (0..3_500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let many: String = (0..200_000).map(|line| format!("{line}\n")).collect();
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("many", &many)]);
    store.commit(&change(None, after), &objects, &[&long, &[]]).unwrap();
    assert_eq!(store.stream(&Digest::of(Kind::Stream, &long)).unwrap().as_deref(), Some(&long[..]));
    assert_eq!(store.stream(&Digest::of(Kind::Stream, b"")).unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(text(&*store.objects(), &after, "many"), Some(many));
    assert_eq!(store.stats().unwrap().streams, 2);
    assert_eq!(store.check().unwrap(), []);
}

#[test]
fn many_may_make_the_tables_at_once_and_newer_ones_are_left_alone() {
    let url = empty_database("hutch_schema");
    let none = connect(&url, Opening { makes_tables: false, ..opening() }).unwrap_err();
    assert_eq!(none.code(), ErrorCode::NotFound, "{none}");
    assert_eq!(psql(&url, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'hutch%'"), "0");
    std::thread::scope(|scope| {
        let made: Vec<_> = (0..8).map(|_| scope.spawn(|| connect(&url, opening()).map(drop))).collect();
        made.into_iter().for_each(|made| made.join().unwrap().unwrap());
    });
    assert_eq!(psql(&url, "SELECT array_agg(version ORDER BY version) FROM hutch_schema"), "{1,2,3}");
    psql(&url, "INSERT INTO hutch_schema VALUES (4)");
    let error = connect(&url, opening()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreTooNew);
    assert!(
        error.to_string().ends_with("the store has schema version 4, and this version knows versions up to 3"),
        "{error}"
    );
    assert_eq!(psql(&url, "SELECT max(version) FROM hutch_schema"), "4");
}

/// Tables of the version before get what they lack, and keep what they have.
#[test]
fn older_tables_become_the_present_ones() {
    let url = empty_database("hutch_older");
    let store = named(&connect(&url, opening()).unwrap(), "kept");
    put(&store, &[("a", "1")]);
    let head = store.head().unwrap();
    for older in [
        "DROP INDEX hutch_memo_keys; DROP TABLE hutch_packages, hutch_package_files; DELETE FROM hutch_schema WHERE version > 1",
        "DROP INDEX hutch_memo_keys; DELETE FROM hutch_schema WHERE version > 2",
    ] {
        psql(&url, older);
        let none = connect(&url, Opening { makes_tables: false, ..opening() }).unwrap_err();
        assert_eq!(none.code(), ErrorCode::NotFound, "{none}");
        let database = connect(&url, opening()).unwrap();
        assert_eq!(named(&database, "kept").head().unwrap(), head);
        assert_eq!(database.packages(&Slug::parse("todo").unwrap()).unwrap(), []);
        assert_eq!(psql(&url, "SELECT count(*) FROM pg_indexes WHERE indexname = 'hutch_memo_keys'"), "1");
    }
}

/// A state is looked up and not gathered from all changes: the server has no room to sort those.
#[test]
fn a_state_is_found_among_many_changes_without_reading_them() {
    let url = empty_database("hutch_long");
    let store = named(&connect(&url, opening()).unwrap(), "long");
    put(&store, &[("a", "1")]);
    put(&store, &[("a", "2")]);
    let states = [store.state_at(1).unwrap(), store.state_at(2).unwrap()];
    // As if there had been so many before.
    let many = "INSERT INTO hutch_moves SELECT instance, volume, -n, tree FROM hutch_moves, generate_series(1, 20000) AS n \
        WHERE sequence = 1";
    psql(&url, many);
    psql(&url, "ALTER DATABASE hutch_long SET work_mem = '64kB'");
    psql(&url, "ALTER DATABASE hutch_long SET temp_file_limit = 0");
    let store = named(&connect(&url, opening()).unwrap(), "long");
    assert_eq!([store.state_at(1).unwrap(), store.state_at(2).unwrap()], states);
    assert_eq!([1, 2].map(|place| store.last_change(place).unwrap()), [Some(1), Some(2)]);
}

fn package(text: &str, version: &str) -> KeptPackage {
    let digest = |kind| Digest::of(kind, text.as_bytes());
    KeptPackage { digest: digest(Kind::Package), run: digest(Kind::Stream), version: version.to_owned() }
}

/// Packages are one role's, whole, once each, in the order in which they came, with all signatures that were ever brought.
#[test]
fn packages_are_kept_whole_and_once_for_every_machine_of_a_role() {
    let url = empty_database("hutch_packages");
    let (one, other) = (connect(&url, opening()).unwrap(), connect(&url, opening()).unwrap());
    let todo = Slug::parse("todo").unwrap();
    let packed: Vec<u8> = (0..9_500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let files = |signatures: &[&[u8]]| PackageFiles {
        packed: packed.clone(),
        signatures: signatures.iter().map(|bytes| bytes.to_vec()).collect(),
    };
    let (first, second) = (package("first", "2.0.0"), package("second", "1.0.0"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| connect(&url, opening()).unwrap().keep_package(&todo, &first, &files(&[])).unwrap());
        }
    });
    one.keep_package(&todo, &second, &PackageFiles { packed: b"second".to_vec(), signatures: Vec::new() }).unwrap();
    one.keep_package(&todo, &first, &files(&[b"by one", b"by another"])).unwrap();
    assert_eq!(other.packages(&todo).unwrap(), [first.clone(), second.clone()]);
    assert_eq!(other.packages(&Slug::parse("other").unwrap()).unwrap(), []);
    let mut found = other.package(&first.digest).unwrap().unwrap();
    found.signatures.sort();
    assert_eq!(found, files(&[b"by another", b"by one"]));
    assert_eq!(other.package(&Digest::of(Kind::Package, b"none")).unwrap(), None);
    one.drop_package(&first.digest).unwrap();
    assert_eq!((other.packages(&todo).unwrap(), other.package(&first.digest).unwrap()), (vec![second], None));
    assert_eq!(psql(&url, "SELECT count(*) FROM hutch_package_files"), "1");
}

/// Wherever the connection ends, a package is there whole or not at all, and who is told that it is there finds it.
#[test]
fn a_package_whose_connection_ends_is_there_whole_or_not_at_all() {
    let proxy = Proxy::start(&url());
    let (through, here) = (connect(&proxy.url(), opening()).unwrap(), database());
    let slug = Slug::parse("cut").unwrap();
    let files = PackageFiles { packed: vec![7; 20_000], signatures: vec![b"signed".to_vec()] };
    let (mut kept, mut refused) = (0, 0);
    for step in 0..60 {
        let one = package(&format!("cut {step}"), "1.0.0");
        // Both journeys may be cut: it is asked once more, and that too.
        proxy.cut_after(proxy::Direction::Sent, step * 400);
        let answer = through.keep_package(&slug, &one, &files);
        proxy.heal();
        let listed = here.packages(&slug).unwrap().contains(&one);
        let found = here.package(&one.digest).unwrap();
        assert_eq!(found, listed.then(|| files.clone()), "{step}: in part");
        assert!(listed || answer.is_err(), "{step}: said to be there");
        *(if listed { &mut kept } else { &mut refused }) += 1;
    }
    println!("{kept} packages kept, {refused} refused");
    assert!(kept > 5, "{kept} kept, {refused} refused");
}

/// Whatever somebody changed behind the store's back is found by the next one to use it, or by the check.
#[test]
fn rows_that_somebody_changed_are_found() {
    let url = empty_database("hutch_damage");
    let database = connect(&url, opening()).unwrap();
    for (number, (sql, is_seen_at_once)) in [
        ("UPDATE hutch_instances SET standing = '{}'", true),
        ("UPDATE hutch_instances SET standing = 'x'", true),
        ("UPDATE hutch_instances SET sequence = 2", true),
        ("UPDATE hutch_instances SET hash = '\\x00'", true),
        ("UPDATE hutch_entries SET bytes = '\\x7b7d' WHERE sequence = 3", true),
        ("DELETE FROM hutch_entries WHERE sequence = 3", true),
        ("UPDATE hutch_entries SET sequence = 9 WHERE sequence = 3", true),
        ("DELETE FROM hutch_entries WHERE sequence = 2", false),
        ("UPDATE hutch_objects SET bytes = '\\x00' WHERE kind = 1", false),
        ("UPDATE hutch_objects SET bytes = '\\x00' WHERE kind = 4", false),
        ("DELETE FROM hutch_objects WHERE kind = 3", false),
        ("UPDATE hutch_moves SET tree = '\\x00' WHERE sequence = 1", false),
        ("DELETE FROM hutch_moves WHERE sequence = 1", false),
    ]
    .into_iter()
    .enumerate()
    {
        let store = named(&database, &format!("d{number}"));
        for at in 0..3 {
            let mut objects = no_objects();
            let after = volume(&mut objects, &[("a", &at.to_string())]);
            store.commit(&change(state(&store), after), &objects, &[b"output"]).unwrap();
        }
        assert_eq!(store.check().unwrap(), []);
        psql(
            &url,
            &format!(
                "{sql}{} {} = (SELECT max(id) FROM hutch_instances)",
                if sql.contains("WHERE") { " AND" } else { " WHERE" },
                if sql.contains("hutch_instances") { "id" } else { "instance" }
            ),
        );
        let again = named(&database, &format!("d{number}"));
        assert_eq!(again.head().is_err(), is_seen_at_once, "{sql}");
        if let Err(error) = again.head() {
            assert_eq!(error.code(), ErrorCode::StoreDamaged, "{sql}: {error}");
        }
        match again.check() {
            Ok(damages) => assert!(!damages.is_empty(), "{sql}: not found"),
            Err(error) => assert_eq!(error.code(), ErrorCode::StoreDamaged, "{sql}: {error}"),
        }
    }
}

/// The statements of `host/docs/fleets.md` for a role, with another in its place.
fn granted(role: &str) -> String {
    let page = include_str!("../../docs/fleets.md");
    let block = page.split_once("```sql\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    assert!(block.contains(" accounts;") && block.contains(" ana;"), "{block}");
    block.replace("accounts", role).replace("ana", &format!("{role}_person"))
}

/// With what that page grants, a role has its own instances, a person has those of the role that she stands for, and what was written
/// stays, whatever either asks for.
#[test]
fn a_role_has_its_own_instances_and_changes_nothing_that_was_written() {
    let url = empty_database("hutch_roles");
    connect(&url, opening()).unwrap();
    let connect_as = |role: &str| connect(&url, Opening { user: role.to_owned(), ..opening() });
    for role in ["acme", "globex"] {
        psql(&url, &format!("DROP ROLE IF EXISTS {role}_person, {role}"));
        psql(&url, &format!("CREATE ROLE {role} LOGIN; CREATE ROLE {role}_person LOGIN"));
    }
    assert_eq!(connect_as("acme").unwrap_err().code(), ErrorCode::PermissionDenied);
    for role in ["acme", "globex"] {
        psql(&url, &granted(role));
    }
    let roles = ["acme", "globex"].map(|role| (role, named(&connect_as(role).unwrap(), "shared")));
    let [(_, acme), (_, globex)] = &roles;
    put(acme, &[("a", "1")]);
    assert!(!globex.is_there().unwrap());
    put(globex, &[("a", "1")]);
    put(globex, &[("a", "2")]);
    put(globex, &[("a", "3")]);
    assert_eq!((acme.head().unwrap().last.sequence, globex.head().unwrap().last.sequence), (1, 3));
    // Who stands for a role has what it has; the one that made the tables has instances of its own like any other.
    let person = named(&connect_as("acme_person").unwrap(), "shared");
    assert_eq!(person.head().unwrap(), acme.head().unwrap());
    put(&person, &[("a", "3")]);
    assert_eq!(person.head().unwrap(), acme.head().unwrap());
    assert!(!named(&connect_as("hutch").unwrap(), "shared").is_there().unwrap());
    for (role, store) in &roles {
        assert_eq!(connect_as(role).unwrap().instances().unwrap().len(), 1, "{role}");
        assert_eq!(store.check().unwrap(), [], "{role}");
        // By statements of its own it finds no more, and changes nothing.
        let ask = |sql: &str| psql_as(role, &url, sql);
        assert_eq!(ask("SELECT count(*), min(tenant) FROM hutch_instances"), Ok(format!("1|{role}")));
        for table in ["hutch_entries", "hutch_moves", "hutch_objects"] {
            let owners = format!(
                "SELECT count(*) > 0, count(*) FILTER (WHERE instance NOT IN (SELECT id FROM hutch_instances)) FROM {table}"
            );
            assert_eq!(ask(&owners), Ok("t|0".to_owned()), "{role} {table}");
        }
        let other = psql(&url, &format!("SELECT id FROM hutch_instances WHERE tenant <> '{role}'"));
        for sql in [
            "UPDATE hutch_entries SET bytes = ''",
            "DELETE FROM hutch_entries",
            "DELETE FROM hutch_moves",
            "UPDATE hutch_objects SET bytes = ''",
            "DELETE FROM hutch_objects",
            "DELETE FROM hutch_instances",
            "UPDATE hutch_instances SET tenant = 'hutch'",
            "UPDATE hutch_instances SET secret_key = ''",
            "INSERT INTO hutch_schema VALUES (4)",
            "UPDATE hutch_memo SET value = ''",
            "TRUNCATE hutch_entries",
            "DROP POLICY hutch_tenant ON hutch_entries",
            "UPDATE hutch_packages SET version = ''",
            "DELETE FROM hutch_packages",
            "UPDATE hutch_package_files SET bytes = ''",
            "DELETE FROM hutch_package_files",
            "INSERT INTO hutch_packages (tenant, digest, run, slug, version) VALUES ('hutch', '', '', '', '')",
            "CREATE TABLE mine (a int)",
        ] {
            let refused = ask(sql).unwrap_err();
            assert!(
                refused.contains("permission denied") || refused.contains("must be owner"),
                "{role} {sql}: {refused}"
            );
        }
        let foreign = format!("INSERT INTO hutch_entries VALUES ({other}, 9, '', 0, '')");
        let refused = ask(&foreign).unwrap_err();
        assert!(refused.contains("violates row-level security policy"), "{role}: {refused}");
        // The setting alone is no right.
        let another = if *role == "acme" { "globex" } else { "acme" };
        assert_eq!(
            ask(&format!("SET hutch.tenant TO {another}; SELECT count(*) FROM hutch_instances")),
            Ok("1".to_owned())
        );
    }
    // The same holds of packages.
    let todo = Slug::parse("todo").unwrap();
    let kept = PackageFiles { packed: b"packed".to_vec(), signatures: Vec::new() };
    connect_as("acme_person").unwrap().keep_package(&todo, &package("acme", "1.0.0"), &kept).unwrap();
    assert_eq!(connect_as("acme").unwrap().packages(&todo).unwrap(), [package("acme", "1.0.0")]);
    let foreign = connect_as("globex").unwrap();
    assert_eq!(foreign.packages(&todo).unwrap(), []);
    assert_eq!(foreign.package(&package("acme", "1.0.0").digest).unwrap(), None);
    assert_eq!(psql_as("globex", &url, "SELECT count(*) FROM hutch_package_files"), Ok("0".to_owned()));
    let refused = connect_as("acme").unwrap().drop_package(&package("acme", "1.0.0").digest).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::PermissionDenied);
    // And of outcomes: none of another tenant's is ever used, not even by the role that may see all and may take away none of theirs.
    psql(&url, "GRANT SELECT, INSERT (instance, key, value), DELETE ON hutch_memo TO acme, globex, acme_person");
    let memo = |store: &PostgresStore| store.memo(true).unwrap().unwrap();
    let owner = named(&connect_as("hutch").unwrap(), "shared");
    put(&owner, &[("a", "1")]);
    let key = Digest::of(Kind::Memo, b"acme");
    memo(acme).put(&key, b"outcome").unwrap();
    for stranger in [globex, &owner] {
        assert_eq!(memo(stranger).get(&[key]).unwrap(), []);
        memo(stranger).remove(&key).unwrap();
    }
    let elsewhere = named(&connect_as("acme_person").unwrap(), "elsewhere");
    let found = memo(&elsewhere).get(&[key]).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].role.as_deref(), found[0].instance.as_deref()), (Some("acme"), Some("todo/shared")));
    // What takes objects away is a right of its own.
    let keep = Retention { keep_last: 1, newer_than: None };
    let collected = record(EntryKind::Collect, 9);
    assert_eq!(globex.collect(&keep, &collected).unwrap_err().code(), ErrorCode::PermissionDenied);
    assert_eq!((globex.head().unwrap().last.sequence, globex.check().unwrap()), (3, Vec::new()));
    psql(&url, "GRANT DELETE ON hutch_objects TO globex");
    assert!(globex.collect(&keep, &collected).unwrap().0.objects > 0);
    assert_eq!((globex.check().unwrap(), acme.check().unwrap()), (Vec::new(), Vec::new()));
}

#[test]
fn a_server_that_is_away_or_refuses_is_an_error_that_says_where() {
    let nobody = connect("postgres://hutch@127.0.0.1:1/hutch", opening()).unwrap_err();
    assert_eq!(nobody.code(), ErrorCode::HostFault);
    assert!(nobody.to_string().starts_with("postgres://127.0.0.1:1/hutch: can't reach the database: "), "{nobody}");
    let stranger = connect(&url(), Opening { user: "stranger".to_owned(), ..opening() }).unwrap_err();
    assert_eq!(stranger.code(), ErrorCode::PermissionDenied, "{stranger}");
}

/// Between who is made first and who comes later there is one key, and a store that nobody wrote to is not there.
#[test]
fn an_instance_is_made_when_it_is_first_written_and_keeps_its_key() {
    let database = database();
    let open = |key| database.store(&Slug::parse("todo").unwrap(), &"keys".parse().unwrap(), [key; 32]);
    psql(&url(), "DELETE FROM hutch_instances WHERE name = 'keys'");
    let (one, two) = (open(1), open(2));
    assert!(!one.is_there().unwrap() && !two.is_there().unwrap());
    assert_eq!((one.head().unwrap(), one.check().unwrap()), (Default::default(), Vec::new()));
    assert!(!database.instances().unwrap().iter().any(|known| known.name.as_str() == "keys"));
    put(&two, &[("a", "1")]);
    assert!(one.is_there().unwrap());
    let hash = |store: &PostgresStore| store.secret_key().unwrap().hash("name", "value");
    assert_eq!(hash(&one), hash(&two));
    assert_eq!(hash(&one), hutch_model::ledger::SecretKey::new([2; 32]).hash("name", "value"));
    assert!(database.instances().unwrap().iter().any(|known| known.name.as_str() == "keys" && known.bytes > 0));
}
