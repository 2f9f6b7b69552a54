//! Where instances are that is not the home, connected to, the stores of the instances there, and the packages. Without the features there is
//! nothing of the kind.

use crate::refusal::fault::Fault;
use hutch::Stores;
use hutch_model::digest::Digest;
use hutch_model::invocation::Seed;
use hutch_model::names::Slug;
use hutch_store::StoreError;
use std::sync::Arc;
#[cfg(any(feature = "bucket", feature = "postgres"))]
use std::time::Duration;

/// What names it in the environment.
pub(crate) const VARIABLE: &str = "HUTCH_STORE";

/// How long one of these takes, at best: how far away a server is.
#[cfg(any(feature = "bucket", feature = "postgres"))]
pub(crate) fn fastest<E>(mut ping: impl FnMut() -> Result<(), E>) -> Result<Duration, E> {
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        #[expect(clippy::disallowed_methods, reason = "how far away the server is, only a clock can say")]
        let start = std::time::Instant::now();
        ping()?;
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest)
}

/// A package that a database keeps.
#[derive(Clone, Debug)]
pub(crate) struct KeptPackage {
    /// The digest of all its files.
    pub(crate) digest: Digest,
    /// What entries of a ledger call it.
    pub(crate) run: Digest,
    /// Its version.
    pub(crate) version: String,
}

/// The bytes of one: the packed file, and signatures.
#[derive(Clone, Debug)]
pub(crate) struct PackageFiles {
    pub(crate) packed: Vec<u8>,
    pub(crate) signatures: Vec<Vec<u8>>,
}

/// What is connected to.
#[derive(Debug, Clone)]
pub(crate) enum Connected {
    /// A database.
    #[cfg(feature = "postgres")]
    Database(Arc<hutch_store_postgres::Database>),
    /// A bucket.
    #[cfg(feature = "bucket")]
    Bucket(Arc<hutch_store_bucket::Bucket>),
}

/// Where the host finds the stores of instances, whose keys are made of what nobody can guess.
#[cfg(any(feature = "bucket", feature = "postgres"))]
pub(crate) fn stores(connected: &Connected, random: fn() -> Result<Seed, Fault>) -> Arc<Stores> {
    use hutch_store::{InstanceName, Store};
    let connected = connected.clone();
    Arc::new(move |slug: &Slug, instance: &InstanceName| {
        let fresh = random().map_err(|fault| StoreError::Failed {
            at: connected.at().to_owned(),
            action: "make a key",
            source: fault.report().message.clone().into(),
        })?;
        Ok(match &connected {
            #[cfg(feature = "postgres")]
            Connected::Database(database) => Arc::new(database.store(slug, instance, fresh.0)) as Arc<dyn Store>,
            #[cfg(feature = "bucket")]
            Connected::Bucket(bucket) => Arc::new(bucket.store(slug, instance, fresh.0)) as Arc<dyn Store>,
        })
    })
}

#[cfg(any(feature = "bucket", feature = "postgres"))]
impl Connected {
    /// Where it is, for messages.
    fn at(&self) -> &str {
        match self {
            #[cfg(feature = "postgres")]
            Connected::Database(database) => database.at(),
            #[cfg(feature = "bucket")]
            Connected::Bucket(bucket) => bucket.at(),
        }
    }
}

/// There are none.
#[cfg(not(any(feature = "bucket", feature = "postgres")))]
pub(crate) fn stores(connected: &Connected, _random: fn() -> Result<Seed, Fault>) -> Arc<Stores> {
    match *connected {}
}

/// Whether packages are kept there too.
pub(crate) fn keeps_packages(connected: &Connected) -> bool {
    match *connected {
        #[cfg(feature = "postgres")]
        Connected::Database(_) => true,
        #[cfg(feature = "bucket")]
        Connected::Bucket(_) => false,
    }
}

/// The versions of a package that are kept there, in the order in which they came. Whether they are what is said of them is for others to
/// find out.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is nothing to ask"))]
pub(crate) fn packages(connected: &Connected, slug: &Slug) -> Result<Vec<KeptPackage>, StoreError> {
    match *connected {
        #[cfg(feature = "postgres")]
        Connected::Database(ref database) => {
            let kept = database.packages(slug)?.into_iter();
            Ok(kept.map(|one| KeptPackage { digest: one.digest, run: one.run, version: one.version }).collect())
        }
        #[cfg(feature = "bucket")]
        Connected::Bucket(_) => Ok(Vec::new()),
    }
}

/// The files of one.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is nothing to ask"))]
pub(crate) fn package(connected: &Connected, digest: &Digest) -> Result<Option<PackageFiles>, StoreError> {
    match *connected {
        #[cfg(feature = "postgres")]
        Connected::Database(ref database) => {
            let files = database.package(digest)?;
            Ok(files.map(|files| PackageFiles { packed: files.packed, signatures: files.signatures }))
        }
        #[cfg(feature = "bucket")]
        Connected::Bucket(_) => Ok(None),
    }
}

/// Keeps one, where packages are kept.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is nowhere to keep it"))]
pub(crate) fn keep_package(
    connected: &Connected,
    slug: &Slug,
    one: KeptPackage,
    files: PackageFiles,
) -> Result<(), StoreError> {
    match *connected {
        #[cfg(feature = "postgres")]
        Connected::Database(ref database) => {
            use hutch_store_postgres as there;
            let one = there::KeptPackage { digest: one.digest, run: one.run, version: one.version };
            let files = there::PackageFiles { packed: files.packed, signatures: files.signatures };
            database.keep_package(slug, &one, &files)
        }
        #[cfg(feature = "bucket")]
        Connected::Bucket(_) => Ok(()),
    }
}

/// Takes one away.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is nothing to take away"))]
pub(crate) fn drop_package(connected: &Connected, digest: &Digest) -> Result<(), StoreError> {
    match *connected {
        #[cfg(feature = "postgres")]
        Connected::Database(ref database) => database.drop_package(digest),
        #[cfg(feature = "bucket")]
        Connected::Bucket(_) => Ok(()),
    }
}
