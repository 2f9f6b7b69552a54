//! What only a store in a real bucket can be asked: connections that end at any byte, writers at once, who is refused, and what it takes.
//! HUTCH_TEST_BUCKET and AWS_ENDPOINT_URL name it: see tests/bucket/run.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../../store/tests/common/mod.rs"]
mod common;
mod given;
mod proxy;

use common::*;
use given::*;
use hutch_model::error_code::ErrorCode;
use hutch_model::names::Slug;
use hutch_store::{Store, StoreError};
use hutch_store_bucket::{Address, Bucket, Credentials, Opening};
use proxy::{Direction, Proxy};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn the_bucket_puts_an_object_only_where_there_is_none() {
    for _ in 0..20 {
        let mut place = [0; 16];
        place.copy_from_slice(&fresh()[..16]);
        bucket().prove(place).unwrap();
    }
}

/// At whatever byte a connection ends, a commit is what its answer says.
#[test]
fn a_commit_is_what_its_answer_says_wherever_connections_end() {
    let (proxy, direct) = (Proxy::start(&endpoint()), bucket());
    let (mut kept, mut refused, mut uncertain, mut cut) = (0, 0, 0, 0);
    for direction in [Direction::Sent, Direction::Answered] {
        for stays in [false, true] {
            let (mut bytes, mut untouched) = (1, 0);
            while untouched < 2 {
                let at = name();
                let looking = named(&direct, &at);
                let before = put(&looking, &[("a", "1")]);
                let mut objects = no_objects();
                let after = volume(&mut objects, &[("a", "2"), ("d/b", &"long ".repeat(300))]);
                // One that is cut off for good is given up soon; to be connected takes a busy machine its time too.
                let wait = if stays { Duration::from_millis(100) } else { Duration::from_secs(20) };
                let through = named(&bucket_at(&proxy.endpoint(), wait), &at);
                proxy.cut_after(direction, bytes, stays);
                let ended = through.commit(&change(Some(before), after), &objects, &[b"out"]);
                untouched += u32::from(!proxy.heal() && ended.is_ok());
                cut += 1;
                let fresh = named(&direct, &at);
                let now = (fresh.head().unwrap().last.sequence, state(&fresh).unwrap());
                match &ended {
                    Ok(sealed) => {
                        assert_eq!((sealed.sequence, now), (2, (2, after)), "{direction:?} {bytes} {stays}");
                        kept += 1;
                    }
                    Err(StoreError::Uncertain { .. }) => {
                        assert!(now == (2, after) || now == (1, before), "{direction:?} {bytes} {stays}");
                        uncertain += 1;
                    }
                    Err(error) => {
                        assert!(stays, "{direction:?} {bytes}: {error}");
                        assert_eq!((error.code(), now), (ErrorCode::HostFault, (1, before)), "{error}");
                        refused += 1;
                    }
                }
                assert_eq!(fresh.check().unwrap(), [], "{direction:?} {bytes} {stays}");
                bytes += 149;
            }
        }
    }
    println!("   connections ended in {cut} commits: {kept} kept, {refused} not, {uncertain} uncertain");
    assert!(cut > 40 && kept > 20 && refused > 5 && uncertain > 0, "{cut} {kept} {refused} {uncertain}");
}

#[test]
fn writers_at_once_lose_nothing_and_double_nothing() {
    let at = name();
    let first = named(&bucket(), &at);
    put(&first, &[]);
    let (each, writers) = (5, 6);
    let conflicts: u32 = std::thread::scope(|scope| {
        let write = |writer: u8| {
            let (store, mut conflicts, mut made) = (named(&bucket(), &at), 0, 0);
            while made < each {
                let head = store.head().unwrap();
                let before = head.state["state"];
                let mut objects = no_objects();
                let after = volume(&mut objects, &[("last", &format!("{writer}.{made}"))]);
                match store.commit(&change(Some(before), after), &objects, &[]) {
                    Ok(_) => made += 1,
                    Err(error) => {
                        assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
                        conflicts += 1;
                    }
                }
            }
            conflicts
        };
        let threads: Vec<_> = (0..writers).map(|writer| scope.spawn(move || write(writer))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let last = named(&bucket(), &at);
    assert_eq!(last.head().unwrap().last.sequence, 1 + each * u64::from(writers));
    assert_eq!(last.check().unwrap(), []);
    println!("   {writers} writers, {each} commits each: {conflicts} conflicts");
}

#[test]
fn who_is_not_there_or_not_known_is_an_error_that_says_where() {
    let nobody = named(&bucket_at("http://127.0.0.1:1", Duration::ZERO), "x").head().unwrap_err();
    assert_eq!(nobody.code(), ErrorCode::HostFault);
    assert!(
        nobody.to_string().starts_with("s3://") && nobody.to_string().contains("can't reach the bucket"),
        "{nobody}"
    );
    let now = || "2026-04-01T09:00:00Z".parse().unwrap();
    let credentials = || Credentials { id: "nobody".to_owned(), secret: "geheim".to_owned(), token: None };
    let missing = Address::parse("s3://no-such-bucket-here", Some(&endpoint()), "us-east-1").unwrap();
    let missing = Bucket::here(missing, Opening { credentials: credentials(), wait: Duration::ZERO, now });
    let error = missing.store(&Slug::parse("todo").unwrap(), &"x".parse().unwrap(), [1; 32]).head().unwrap_err();
    // A bucket that is missing is none in which there is nothing; a server may ask first who wants to know.
    assert!(matches!(error.code(), ErrorCode::HostFault | ErrorCode::PermissionDenied), "{error}");
    assert!(!error.to_string().contains("geheim"), "{error}");
}

#[test]
fn instances_are_listed_and_a_key_is_kept() {
    let (bucket, at): (Arc<Bucket>, _) = (bucket(), name());
    let [one_key, two_key] = [fresh(), fresh()];
    let [one, two] = [one_key, two_key].map(|fresh| keyed(&bucket, &at, fresh));
    assert!(!one.is_there().unwrap() && !two.is_there().unwrap());
    put(&two, &[("a", "1")]);
    let hash = |store: &dyn Store| store.secret_key().unwrap().hash("name", "value");
    assert!(one.is_there().unwrap());
    assert_eq!(hash(&one), hutch_model::ledger::SecretKey::new(two_key).hash("name", "value"));
    let known = bucket.instances().unwrap();
    assert!(known.iter().any(|known| known.name.as_str() == at && known.bytes > 100), "{known:?}");
}
