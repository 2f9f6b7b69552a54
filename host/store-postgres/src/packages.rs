//! Packages in the database: packed files with their signatures, named by the digest of what is in them, of a role and of whoever stands for
//! it. Nothing here is believed: whoever takes one out holds it against its name.

use crate::database::Database;
use crate::row::{Row, Unexpected, Value};
use crate::transaction::begin;
use crate::wire::{Connection, WireError};
use hutch_model::digest::{Digest, Kind};
use hutch_model::names::Slug;
use hutch_store::StoreError;
use std::collections::BTreeMap;

/// The bytes of a part; what is longer has several. Several make one journey.
const PART_BYTES: usize = 1 << 20;
const FLIGHT_PARTS: usize = 8;
/// What the packed file is called among the files of a package. A signature is called by its digest.
const PACKED: &[u8] = b"";

const OWN: &str = "coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user)";
const TURN: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 448378496872))";
const PUT_FILES: &str = "INSERT INTO hutch_package_files (package, file, part, bytes)
    SELECT $1, $2, part, bytes FROM unnest($3, $4) AS new (part, bytes) ON CONFLICT DO NOTHING";
const PUT: &str =
    "INSERT INTO hutch_packages (digest, run, slug, version) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";

/// A package that a database keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptPackage {
    /// The digest of all its files.
    pub digest: Digest,
    /// What entries of a ledger call it: the digest of what a run depends on.
    pub run: Digest,
    /// Its version, as its manifest says it.
    pub version: String,
}

/// The bytes of a package that a database keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageFiles {
    /// The packed file.
    pub packed: Vec<u8>,
    /// Signatures of it.
    pub signatures: Vec<Vec<u8>>,
}

impl Database {
    /// The versions of a package that are kept for the role, in the order in which they came.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn packages(&self, slug: &Slug) -> Result<Vec<KeptPackage>, StoreError> {
        let listed = format!(
            "SELECT digest, run, version FROM hutch_packages WHERE tenant = {OWN} AND slug = $1 ORDER BY place"
        );
        let kept = |row: &Row| -> Result<KeptPackage, Unexpected> {
            Ok(KeptPackage { digest: row.digest(0)?, run: row.digest(1)?, version: row.text(2)?.to_owned() })
        };
        self.sql(|connection| {
            let rows = connection.rows(&listed, &[Value::Text(slug.as_str())])?;
            Ok(rows.iter().map(kept).collect::<Result<_, _>>()?)
        })
    }

    /// The files of a package that is kept for the role; none if it is not.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn package(&self, digest: &Digest) -> Result<Option<PackageFiles>, StoreError> {
        let listed = format!(
            "SELECT file, bytes FROM hutch_package_files WHERE tenant = {OWN} AND package = $1 ORDER BY file, part"
        );
        self.sql(|connection| {
            let mut files: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for row in connection.rows(&listed, &[Value::Blob(digest.as_bytes())])? {
                files.entry(row.bytes(0)?.to_vec()).or_default().extend_from_slice(row.bytes(1)?);
            }
            let packed = files.remove(PACKED);
            Ok(packed.map(|packed| PackageFiles { packed, signatures: files.into_values().collect() }))
        })
    }

    /// Keeps a package, all of it or nothing. One that is kept stays as it is, but for signatures that it has not yet.
    ///
    /// # Errors
    /// The database can't be written, or the role may not ([`StoreError::Denied`]).
    pub fn keep_package(&self, slug: &Slug, package: &KeptPackage, files: &PackageFiles) -> Result<(), StoreError> {
        let signature = |bytes: &Vec<u8>| Digest::of(Kind::Stream, bytes);
        let names: Vec<Digest> = files.signatures.iter().map(signature).collect();
        let names = std::iter::once(PACKED).chain(names.iter().map(|name| &name.as_bytes()[..]));
        let all: Vec<(&[u8], &[u8])> =
            names.zip(std::iter::once(&files.packed).chain(&files.signatures).map(Vec::as_slice)).collect();
        self.in_turn(&package.digest, |connection| {
            let digest = Value::Blob(package.digest.as_bytes());
            for (name, bytes) in &all {
                let pieces: Vec<&[u8]> = bytes.chunks(PART_BYTES).collect();
                let numbers: Vec<i64> = (0..).take(pieces.len()).collect();
                for (numbers, pieces) in numbers.chunks(FLIGHT_PARTS).zip(pieces.chunks(FLIGHT_PARTS)) {
                    let values = [digest, Value::Blob(name), Value::Numbers(numbers), Value::Blobs(pieces)];
                    connection.rows(PUT_FILES, &values)?;
                }
            }
            let (slug, version) = (Value::Text(slug.as_str()), Value::Text(&package.version));
            connection.rows(PUT, &[digest, Value::Blob(package.run.as_bytes()), slug, version]).map(drop)
        })
    }

    /// Takes a package away.
    ///
    /// # Errors
    /// As for [`Database::keep_package`].
    pub fn drop_package(&self, digest: &Digest) -> Result<(), StoreError> {
        let taken = ["hutch_packages WHERE digest", "hutch_package_files WHERE package"]
            .map(|whose| format!("DELETE FROM {whose} = $1 AND tenant = {OWN}"));
        self.in_turn(digest, |connection| {
            let values = [Value::Blob(digest.as_bytes())];
            connection.run(&[(&taken[0], &values), (&taken[1], &values)]).map(drop)
        })
    }

    /// One transaction about one package at a time. What is done twice, because an answer was lost, comes to the same.
    fn in_turn(
        &self,
        digest: &Digest,
        job: impl Fn(&mut Connection) -> Result<(), WireError>,
    ) -> Result<(), StoreError> {
        let name = digest.to_string();
        self.sql(|connection| {
            let begun = begin(connection, (self.wait(), false), &[(TURN, &[Value::Text(&name)])]);
            let done = begun.and_then(|_| job(connection));
            let ended = connection.rows(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }, &[]);
            done.and_then(|()| ended.map(drop))
        })
    }
}
