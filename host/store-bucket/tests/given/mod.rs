//! The bucket that the tests are given, and stores in it that no other test has.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of tests is a test")]

use hutch_model::instant::Instant;
use hutch_model::names::Slug;
use hutch_store_bucket::{Address, Bucket, BucketStore, Credentials, Opening};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: see tests/bucket/run"))
}

/// The bucket's server.
pub(crate) fn endpoint() -> String {
    variable("AWS_ENDPOINT_URL")
}

fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Instant::from_unix_ns(since.as_nanos().try_into().unwrap())
}

/// The bucket, reached at this server.
pub(crate) fn bucket_at(endpoint: &str, wait: Duration) -> Arc<Bucket> {
    let address = Address::parse(&variable("HUTCH_TEST_BUCKET"), Some(endpoint), "us-east-1").unwrap();
    let (id, secret) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"));
    Bucket::here(address, Opening { credentials: Credentials { id, secret, token: None }, wait, now })
}

pub(crate) fn bucket() -> Arc<Bucket> {
    bucket_at(&endpoint(), Duration::from_secs(20))
}

/// A name that no other test has.
pub(crate) fn name() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("t{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

/// What a process is to make a key of. It also names where it proves the bucket, so it is given to no other.
pub(crate) fn fresh() -> [u8; 32] {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) << 32 | u64::from(std::process::id());
    let mut fresh = [0; 32];
    fresh.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&number.to_le_bytes()));
    fresh
}

/// An instance, as a process of its own sees it.
pub(crate) fn named(bucket: &Arc<Bucket>, name: &str) -> BucketStore {
    keyed(bucket, name, fresh())
}

/// The same, of which the process makes this key.
pub(crate) fn keyed(bucket: &Arc<Bucket>, name: &str, fresh: [u8; 32]) -> BucketStore {
    bucket.store(&Slug::parse("todo").unwrap(), &name.parse().unwrap(), fresh)
}

/// A store that no other test has.
pub(crate) fn store() -> BucketStore {
    named(&bucket(), &name())
}
