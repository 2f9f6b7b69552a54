//! A bucket in memory, which is asked as one that another process reaches, and can be made to misbehave; and the contract of all stores, asked
//! of stores in it.

use crate::bucket::Bucket;
use crate::client::{Placed, Trouble};
use crate::instance::BucketStore;
use crate::listing::Listed;
use crate::wire::{Ask, Told, receive, send};
use hutch_model::names::Slug;
use hutch_store::{MemoryStore, Store};
use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What goes wrong as an entry is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing does.
    None,
    /// The put is lost.
    LostBefore,
    /// It is carried out, and the answer is lost.
    LostAfter,
    /// Both answer and put are lost, and the put comes when something else is put.
    Late,
    /// Somebody else was putting one there, and did not.
    Hindered,
    /// The server refuses who asks.
    Denied,
    /// The put is carried out, the answer is lost, and so is everything from then on.
    GoneAfter,
    /// The put is lost, and so is everything from then on.
    GoneBefore,
}

/// The objects.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// What becomes of the next entries that are put.
    pub(crate) faults: Mutex<VecDeque<Fault>>,
    pub(crate) late: Mutex<Option<(String, Vec<u8>)>>,
    /// Nobody can reach it.
    pub(crate) is_gone: Mutex<bool>,
    /// It takes no notice of conditions.
    pub(crate) is_careless: bool,
    /// Of each of the next objects that are put so many bytes come before the connection ends, and are kept and listed.
    pub(crate) cut_within: Mutex<Option<usize>>,
    /// The names of all that was asked for.
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Memory {
    fn serve(&self, mut input: impl Read, mut output: impl Write) {
        send(&mut output, &Ok::<_, String>("s3://memory/")).unwrap();
        while let Some(ask) = receive::<Ask>(&mut input).unwrap() {
            let is_gone = *self.is_gone.lock().unwrap();
            let told = match is_gone {
                true => Err(Trouble::Lost("nobody is there".to_owned())),
                false => self.answer(ask),
            };
            // Who asked may have gone.
            let _ = send(&mut output, &told);
        }
    }

    fn answer(&self, ask: Ask) -> Result<Told, Trouble> {
        let objects = || self.objects.lock().unwrap();
        let note = |what: &str, key: &str| self.asked.lock().unwrap().push(format!("{what} {key}"));
        Ok(match ask {
            Ask::Get(keys) => {
                keys.iter().for_each(|key| note("get", key));
                Told::Got(keys.iter().map(|key| objects().get(key).cloned()).collect())
            }
            Ask::Lengths(keys) => {
                keys.iter().for_each(|key| note("head", key));
                let length = |key| objects().get(key).map(|bytes| bytes.len() as u64);
                Told::Lengths(keys.iter().map(length).collect())
            }
            Ask::Put(all) => {
                all.iter().for_each(|(key, _)| note("put", key));
                if let Some(passes) = self.cut_within.lock().unwrap().take() {
                    let stumps = all.into_iter().map(|(key, bytes)| (key, bytes[..passes.min(bytes.len())].to_vec()));
                    objects().extend(stumps);
                    return Err(Trouble::Lost("the connection ended".to_owned()));
                }
                objects().extend(all);
                Told::Done
            }
            Ask::PutNew(key, bytes) => {
                note("new", &key);
                let late = self.late.lock().unwrap().take();
                late.map(|(key, bytes)| objects().entry(key).or_insert(bytes).len());
                let fault = match key.contains("/e/") {
                    true => self.faults.lock().unwrap().pop_front().unwrap_or(Fault::None),
                    false => Fault::None,
                };
                Told::Placed(self.place(key, bytes, fault)?)
            }
            Ask::List(prefix, after) => {
                // Pages are short, so that there are several.
                let from = after.unwrap_or_default();
                let objects = objects();
                let mut all = objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > from);
                let listed: Vec<Listed> = all
                    .by_ref()
                    .take(3)
                    .map(|(key, bytes)| Listed { key: key.clone(), bytes: bytes.len() as u64 })
                    .collect();
                let next = all.next().and(listed.last().map(|last| last.key.clone()));
                Told::Listed(listed, next)
            }
            Ask::Delete(key) => {
                note("delete", &key);
                objects().remove(&key);
                Told::Done
            }
        })
    }

    fn place(&self, key: String, bytes: Vec<u8>, fault: Fault) -> Result<Placed, Trouble> {
        let put = |key: String, bytes| {
            let mut objects = self.objects.lock().unwrap();
            if objects.contains_key(&key) && !self.is_careless {
                return Placed::Taken;
            }
            objects.insert(key, bytes);
            Placed::Here
        };
        let lost = || Ok(Placed::Unknown("no answer".to_owned()));
        match fault {
            Fault::None => Ok(put(key, bytes)),
            Fault::LostBefore => lost(),
            Fault::LostAfter => {
                put(key, bytes);
                lost()
            }
            Fault::Late => {
                *self.late.lock().unwrap() = Some((key, bytes));
                lost()
            }
            Fault::Hindered => Ok(Placed::Taken),
            Fault::Denied => Err(Trouble::Denied("status 403".to_owned())),
            Fault::GoneAfter => {
                put(key, bytes);
                *self.is_gone.lock().unwrap() = true;
                lost()
            }
            Fault::GoneBefore => {
                *self.is_gone.lock().unwrap() = true;
                lost()
            }
        }
    }

    /// Another process that uses it.
    pub(crate) fn reached(self: &Arc<Memory>, wait: Duration) -> Arc<Bucket> {
        let ((input, answers), (questions, output)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let memory = Arc::clone(self);
        std::thread::spawn(move || memory.serve(questions, answers));
        Bucket::there(input, output, wait).unwrap()
    }
}

/// An instance of a bucket, as a process of its own sees it.
pub(crate) fn store(bucket: &Arc<Bucket>, fresh: u8) -> BucketStore {
    bucket.store(&Slug::parse("todo").unwrap(), &"default".parse().unwrap(), [fresh; 32])
}

fn fresh() -> BucketStore {
    store(&Arc::new(Memory::default()).reached(Duration::from_secs(5)), 7)
}

/// Runs `test` on an empty store, and on a preview over one, which it must leave as it was.
pub(crate) fn each_store(test: impl Fn(&dyn Store)) {
    test(&fresh());
    let below: Arc<dyn Store> = Arc::new(fresh());
    test(&MemoryStore::over(below.clone()));
    assert!(!below.is_there().unwrap(), "a preview changed what is below it");
}
