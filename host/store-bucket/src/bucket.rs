//! A bucket, reached from this process or by another one for it.

use crate::client::{Client, Opening, Placed, Trouble};
use crate::instance::BucketStore;
use crate::listing::Listed;
use crate::wire::{Ask, Told, answer, receive, send};
use crate::{Address, frame};
use hutch_model::names::Slug;
use hutch_store::{InstanceName, StoreError};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A bucket that is used.
pub struct Bucket {
    at: String,
    wait: Duration,
    way: Way,
}

enum Way {
    /// This process has the sockets.
    Here(Box<Client>),
    /// Another one has.
    There(Mutex<Link>),
}

/// What another process is asked through.
struct Link {
    input: Box<dyn Read + Send>,
    output: Box<dyn Write + Send>,
    /// A question was not answered: what comes next would be an answer to another one.
    is_broken: bool,
}

/// An instance that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The package.
    pub slug: Slug,
    /// Its name.
    pub name: InstanceName,
    /// Bytes of all that is kept of it.
    pub bytes: u64,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.at)
    }
}

impl Bucket {
    /// A bucket that this process reaches. Nothing is asked yet.
    pub fn here(address: Address, opening: Opening) -> Arc<Bucket> {
        let (at, wait) = (address.shown(), opening.wait);
        Arc::new(Bucket { at, wait, way: Way::Here(Box::new(Client::new(address, opening))) })
    }

    /// A bucket that another process reaches, which [`serve`](crate::serve)s at the other ends of these.
    ///
    /// # Errors
    /// Why that one has nothing to serve; or it says nothing.
    pub fn there(
        mut input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        wait: Duration,
    ) -> Result<Arc<Bucket>, String> {
        let at = match receive::<Result<String, String>>(&mut input) {
            Ok(Some(opened)) => opened?,
            Ok(None) => return Err("the process that reaches the bucket ended".to_owned()),
            Err(error) => return Err(format!("the process that reaches the bucket: {error}")),
        };
        let link = Link { input: Box::new(input), output: Box::new(output), is_broken: false };
        Ok(Arc::new(Bucket { at, wait, way: Way::There(Mutex::new(link)) }))
    }

    /// The store of an instance, which is made when it is first written: then `fresh`, 32 random bytes, becomes the key under which its
    /// ledger hashes secrets. Nothing is asked yet.
    pub fn store(self: &Arc<Bucket>, slug: &Slug, instance: &InstanceName, fresh: [u8; 32]) -> BucketStore {
        BucketStore::new(Arc::clone(self), slug, instance, fresh)
    }

    /// Where it is, for messages.
    pub fn at(&self) -> &str {
        &self.at
    }

    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// The instances that are there, by package and name.
    ///
    /// # Errors
    /// The bucket can't be read.
    pub fn instances(&self) -> Result<Vec<Known>, StoreError> {
        let mut known = Vec::new();
        for Listed { key, .. } in self.list(frame::INSTANCES)? {
            let parts = key.strip_prefix(frame::INSTANCES).and_then(|rest| rest.split_once('/'));
            let named = parts.and_then(|(slug, name)| Some((Slug::parse(slug).ok()?, name.parse().ok()?)));
            // What else stands there is nobody's instance.
            let Some((slug, name)) = named else { continue };
            let bytes = self.list(&frame::folder(&slug, &name))?.iter().map(|listed| listed.bytes).sum();
            known.push(Known { slug, name, bytes });
        }
        // Servers that keep folders have an order of their own.
        known.sort_unstable_by_key(|known| (known.slug.to_string(), known.name.to_string()));
        Ok(known)
    }

    /// Proves that the bucket puts an object only where there is none if it is asked to, by putting two in one place and taking away what is
    /// there. `unused` names the place.
    ///
    /// # Errors
    /// It does not ([`StoreError::Refused`]), or can't be asked.
    pub fn prove(&self, unused: [u8; 16]) -> Result<(), StoreError> {
        let key = format!("{}{}", frame::PROOFS, data_encoding::HEXLOWER.encode(&unused));
        let refused = |reason: &str| StoreError::Refused { at: self.at.clone(), reason: reason.to_owned() };
        let proved = (|| {
            let [one, two] = [&b"one"[..], b"two"];
            match self.put_new(&key, one)? {
                Placed::Here => {}
                Placed::Taken => {
                    return Err(refused("refuses to put an object where there is none"));
                }
                Placed::Unknown(reason) => return Err(self.failed(Trouble::Lost(reason))),
            }
            let second = self.put_new(&key, two)?;
            let found = self.get(&key)?;
            match (second, found.as_deref()) {
                (Placed::Taken, Some(found)) if found == one => Ok(()),
                (Placed::Unknown(reason), Some(found)) if found == one => Err(self.failed(Trouble::Lost(reason))),
                _ => Err(refused(
                    "does not honour If-None-Match: it put a second object in the place of the first, and so would lose entries",
                )),
            }
        })();
        // What is left there is in nobody's way.
        let _ = self.ask(Ask::Delete(key));
        proved
    }

    /// Asks for nothing that is there and waits for the answer: how long that takes is how far away the server is.
    ///
    /// # Errors
    /// It does not answer.
    pub fn ping(&self) -> Result<(), StoreError> {
        self.get(&format!("{}none", frame::PROOFS)).map(drop)
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get_all(vec![key.to_owned()])?.pop().flatten())
    }

    pub(crate) fn get_all(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let asked = keys.len();
        match self.ask(Ask::Get(keys))? {
            Told::Got(found) if found.len() == asked => Ok(found),
            _ => Err(self.nonsense()),
        }
    }

    /// How long each object is; none if there is none, or it is not said.
    pub(crate) fn lengths(&self, keys: Vec<String>) -> Result<Vec<Option<u64>>, StoreError> {
        let asked = keys.len();
        match self.ask(Ask::Lengths(keys))? {
            Told::Lengths(found) if found.len() == asked => Ok(found),
            _ => Err(self.nonsense()),
        }
    }

    pub(crate) fn put_all(&self, all: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        match self.ask(Ask::Put(all))? {
            Told::Done => Ok(()),
            _ => Err(self.nonsense()),
        }
    }

    /// Puts an object there if there is none.
    pub(crate) fn put_new(&self, key: &str, bytes: &[u8]) -> Result<Placed, StoreError> {
        match self.tell(Ask::PutNew(key.to_owned(), bytes.to_vec())) {
            Ok(Told::Placed(placed)) => Ok(placed),
            Ok(_) => Err(self.nonsense()),
            Err(Trouble::Lost(reason)) => Ok(Placed::Unknown(reason)),
            Err(trouble) => Err(self.failed(trouble)),
        }
    }

    /// All objects whose names begin so.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        let (mut all, mut next) = (Vec::new(), None);
        loop {
            let (listed, more) = self.page(prefix, next)?;
            all.extend(listed);
            match more {
                Some(more) => next = Some(more),
                None => return Ok(all),
            }
        }
    }

    /// One page of them, and where the next one begins.
    pub(crate) fn page(&self, prefix: &str, next: Option<String>) -> Result<(Vec<Listed>, Option<String>), StoreError> {
        match self.ask(Ask::List(prefix.to_owned(), next))? {
            Told::Listed(listed, next) => Ok((listed, next)),
            _ => Err(self.nonsense()),
        }
    }

    fn ask(&self, ask: Ask) -> Result<Told, StoreError> {
        self.tell(ask).map_err(|trouble| self.failed(trouble))
    }

    fn tell(&self, ask: Ask) -> Result<Told, Trouble> {
        match &self.way {
            Way::Here(client) => answer(client, &ask),
            Way::There(link) => link.lock().unwrap_or_else(PoisonError::into_inner).tell(&ask),
        }
    }

    fn nonsense(&self) -> StoreError {
        self.failed(Trouble::Lost("the process that reaches the bucket answered something else".to_owned()))
    }

    /// The error for what went wrong.
    pub(crate) fn failed(&self, trouble: Trouble) -> StoreError {
        let at = self.at.clone();
        match &trouble {
            Trouble::Denied(_) => StoreError::Denied { at, action: "use the bucket", source: trouble.into() },
            Trouble::Refused(_) => StoreError::Failed { at, action: "use the bucket", source: trouble.into() },
            Trouble::Lost(_) => StoreError::Failed { at, action: "reach the bucket", source: trouble.into() },
        }
    }
}

impl Link {
    fn tell(&mut self, ask: &Ask) -> Result<Told, Trouble> {
        let lost = |error: io::Error| Trouble::Lost(format!("the process that reaches the bucket: {error}"));
        if self.is_broken {
            return Err(lost(io::ErrorKind::BrokenPipe.into()));
        }
        self.is_broken = true;
        send(&mut self.output, ask).map_err(lost)?;
        let told = receive::<Result<Told, Trouble>>(&mut self.input).map_err(lost)?;
        let told = told.ok_or_else(|| lost(io::ErrorKind::UnexpectedEof.into()))?;
        self.is_broken = false;
        told
    }
}
