//! Commits a second into SQLite and into PostgreSQL, on one instance and on many, as a table with ratios. HUTCH_TEST_POSTGRES names the
//! database; the argument is how many seconds each row takes.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "an example reaches for what it measures"
)]

#[path = "../../store/tests/common/mod.rs"]
mod common;

use common::{change, no_objects, state, volume};
use hutch_model::error_code::ErrorCode;
use hutch_model::names::Slug;
use hutch_store::{InstanceDir, Opening, SqliteStore, Store};
use hutch_store_postgres::{Address, Database};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Commits a second of so many writers, who write to these stores in turn; and lost attempts beside them.
fn rate(stores: &[Arc<dyn Store>], writers: usize, time: Duration) -> (f64, f64) {
    let (commits, lost) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let (commits, lost, store) = (&commits, &lost, &stores[writer % stores.len()]);
            scope.spawn(move || {
                for number in 0_u64.. {
                    if start.elapsed() > time {
                        return;
                    }
                    let mut objects = no_objects();
                    let text = format!("{writer} {number} {}", "x".repeat(2000));
                    let after = volume(&mut objects, &[("a", &text)]);
                    match store.commit(&change(state(&**store), after), &objects, &[]) {
                        Ok(_) => commits.fetch_add(1, Ordering::Relaxed),
                        Err(error) if error.code() == ErrorCode::Conflict => lost.fetch_add(1, Ordering::Relaxed),
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    (commits.into_inner() as f64 / seconds, lost.into_inner() as f64 / seconds)
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(3.0, |seconds| seconds.parse().unwrap());
    let time = Duration::from_secs_f64(seconds);
    let url = std::env::var("HUTCH_TEST_POSTGRES").unwrap();
    let opening = hutch_store_postgres::Opening {
        user: "hutch".to_owned(),
        password: None,
        wait: Duration::from_secs(30),
        connections_max: 16,
        makes_tables: true,
        connector: None,
    };
    let database = Database::connect(Address::parse(&url).unwrap(), opening).unwrap();
    let slug = Slug::parse("commits").unwrap();
    let folder = std::env::temp_dir().join(format!("hutch-commits-{}", std::process::id()));
    println!(
        "| writers | instances | SQLite | PostgreSQL | ratio | lost attempts, SQLite and PostgreSQL |\n|---|---|---|---|---|---|"
    );
    for (writers, instances) in [(1, 1), (8, 1), (8, 8)] {
        let name = |at: usize| format!("p{}-{writers}-{instances}-{at}", std::process::id()).parse().unwrap();
        let sqlite = |at| {
            let dir = InstanceDir::new(&folder, &slug, &name(at));
            Arc::new(SqliteStore::open(&dir, &Opening::default()).unwrap()) as Arc<dyn Store>
        };
        let postgres = |at| Arc::new(database.store(&slug, &name(at), [7; 32])) as Arc<dyn Store>;
        let (one, lost_one) = rate(&(0..instances).map(sqlite).collect::<Vec<_>>(), writers, time);
        let (two, lost_two) = rate(&(0..instances).map(postgres).collect::<Vec<_>>(), writers, time);
        let ratio = two / one;
        println!("| {writers} | {instances} | {one:.0} | {two:.0} | {ratio:.2} | {lost_one:.0} and {lost_two:.0} |");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
