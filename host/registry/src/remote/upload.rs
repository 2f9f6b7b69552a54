//! Sending bytes to a registry. What is long goes in parts, so that a connection that breaks, a token that ends or a proxy that cuts costs a
//! part and not the whole: the registry is asked how far it came, and what it does not know any more is begun anew.

use super::connection::Answer;
use super::{Call, REASON_BYTES_MAX, Remote};
use crate::documents::Descriptor;
use crate::failure::RegistryError;
use std::time::Duration;

const BYTES: &str = "application/octet-stream";
/// How often the same part is tried again.
const TRIES_MAX: u32 = 4;
/// The most that a registry may want a part to have.
const PART_BYTES_MAX: usize = 1 << 30;

/// An upload that was begun.
struct Upload {
    /// Where the next part goes.
    target: String,
    /// How many bytes are there.
    done: usize,
    /// How many bytes go at once.
    part: usize,
}

/// What became of a part.
enum Sent {
    Taken,
    /// The registry takes no parts.
    Refused,
    /// It may go well another time.
    Lost(RegistryError),
}

impl Remote {
    /// Whether it was not there before.
    pub(crate) fn put_blob(&self, named: &Descriptor, bytes: &[u8]) -> Result<bool, RegistryError> {
        if self.holds(named)? {
            return Ok(false);
        }
        let mut upload = self.begin(self.part_bytes)?;
        // However a registry answers, it is asked no more often than this.
        let mut tries_left = TRIES_MAX.saturating_add(u32::try_from(bytes.len() / upload.part).unwrap_or(u32::MAX));
        let (mut tries, mut waited) = (0, Duration::ZERO);
        loop {
            let rest = bytes.get(upload.done..).unwrap_or_default();
            let is_last = rest.len() <= upload.part;
            let sent = match is_last {
                true => self.last_part(&upload, rest, named)?,
                false => self.part(&mut upload, rest)?,
            };
            match sent {
                Sent::Taken if is_last => return Ok(true),
                Sent::Taken => (tries, waited) = (0, Duration::ZERO),
                Sent::Refused => upload = self.begin(bytes.len())?,
                Sent::Lost(error) if tries == TRIES_MAX || tries_left == 0 => return Err(error),
                Sent::Lost(error) => {
                    match &error {
                        RegistryError::Busy { after, .. } => {
                            if !self.connection.has_waited(tries, &mut waited, *after) {
                                return Err(error);
                            }
                        }
                        // What broke on the way may need a moment, and nobody says when it is back.
                        _ => self.connection.sleep(self.connection.pause_before(tries)),
                    }
                    (tries, tries_left) = (tries + 1, tries_left - 1);
                    match self.again(&upload, named, bytes.len()) {
                        Ok(None) => return Ok(true),
                        Ok(Some(next)) => upload = next,
                        // Nobody is there; the same part is tried, and then this is asked again.
                        Err(RegistryError::Unreachable { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
    }

    fn holds(&self, named: &Descriptor) -> Result<bool, RegistryError> {
        Ok(self.call(&format!("blobs/{}", named.digest), &Call::read("HEAD", 0))?.status == 200)
    }

    fn begin(&self, part: usize) -> Result<Upload, RegistryError> {
        let empty = Call { body: Some((BYTES, b"")), ..Call::read("POST", REASON_BYTES_MAX) };
        let begun = self.call("blobs/uploads/", &empty)?;
        if begun.status != 202 {
            return Err(self.refused("for an upload", &begun));
        }
        let part = part.max(begun.part_bytes_min.unwrap_or(0).min(PART_BYTES_MAX)).max(1);
        Ok(Upload { target: self.next(&begun)?, done: 0, part })
    }

    /// Where an answer says that the upload goes on: to this registry, or nowhere.
    fn next(&self, answer: &Answer) -> Result<String, RegistryError> {
        answer.location.clone().filter(|target| self.origin.holds(target)).ok_or_else(|| {
            self.answer("for an upload", "what is pushed would go to another host, or nowhere".to_owned())
        })
    }

    fn part(&self, upload: &mut Upload, rest: &[u8]) -> Result<Sent, RegistryError> {
        let part = rest.get(..upload.part).unwrap_or(rest);
        let (range, end) = (range(upload.done, part.len()), upload.done + part.len());
        let read = Call::read("PATCH", REASON_BYTES_MAX);
        let patch = Call { body: Some((BYTES, part)), range: Some(range), is_repeatable: false, ..read };
        let answer = match self.call_at(&upload.target, &patch) {
            Ok(answer) => answer,
            Err(error @ RegistryError::Unreachable { .. }) => return Ok(Sent::Lost(error)),
            Err(error) => return Err(error),
        };
        match answer.status {
            202 => {
                upload.target = self.next(&answer)?;
                // Who does not say how far it came took what was sent.
                let is_whole = answer.range.is_none() || done(&answer) == end;
                upload.done = end;
                let short = || self.answer("for a part that was sent", "it did not take all of it".to_owned());
                Ok(if is_whole { Sent::Taken } else { Sent::Lost(short()) })
            }
            404 | 405 | 501 if upload.done == 0 => Ok(Sent::Refused),
            _ => self.lost(&answer),
        }
    }

    fn last_part(&self, upload: &Upload, rest: &[u8], named: &Descriptor) -> Result<Sent, RegistryError> {
        let joint = if upload.target.contains('?') { '&' } else { '?' };
        let target = format!("{}{joint}digest={}", upload.target, named.digest);
        // What goes whole needs no range, and not everybody knows them.
        let range = (upload.done > 0).then(|| range(upload.done, rest.len()));
        let read = Call::read("PUT", REASON_BYTES_MAX);
        let put = Call { body: Some((BYTES, rest)), range, is_repeatable: false, ..read };
        match self.call_at(&target, &put) {
            Ok(answer) if matches!(answer.status, 201 | 204) => Ok(Sent::Taken),
            Ok(answer) => self.lost(&answer),
            Err(error @ RegistryError::Unreachable { .. }) => Ok(Sent::Lost(error)),
            Err(error) => Err(error),
        }
    }

    /// What may go well another time is told from what will not.
    fn lost(&self, answer: &Answer) -> Result<Sent, RegistryError> {
        let refused = self.refused("for a part that was sent", answer);
        match answer.status {
            404 | 408 | 416 | 429 | 500..=599 => Ok(Sent::Lost(refused)),
            _ => Err(refused),
        }
    }

    /// How far the registry came; `None` if it has all and only its answer was lost.
    fn again(&self, upload: &Upload, named: &Descriptor, length: usize) -> Result<Option<Upload>, RegistryError> {
        if self.holds(named)? {
            return Ok(None);
        }
        let known = self.call_at(&upload.target, &Call::read("GET", REASON_BYTES_MAX))?;
        let done = done(&known);
        match known.status {
            200 | 204 if done > 0 && done < length => {
                // Where it goes on is said, or is where it was.
                let target = self.next(&known).unwrap_or_else(|_| upload.target.clone());
                Ok(Some(Upload { target, done, part: upload.part }))
            }
            _ => self.begin(upload.part).map(Some),
        }
    }
}

/// As the distribution specification writes it: the last byte is of it.
fn range(begin: usize, length: usize) -> String {
    format!("{begin}-{}", (begin + length).saturating_sub(1))
}

/// How many bytes a registry says it has: `0-` and the last one's number. `0-0` is said of one and of none, and taken for none.
fn done(answer: &Answer) -> usize {
    let last = answer.range.as_deref().and_then(|range| range.trim_start_matches("bytes=").strip_prefix("0-"));
    last.and_then(|last| last.parse::<usize>().ok()).filter(|last| *last > 0).map_or(0, |last| last.saturating_add(1))
}
