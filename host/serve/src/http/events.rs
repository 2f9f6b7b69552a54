//! The ledgers of all packages as they grow, as server-sent events: for each entry the item that a list has of it. The id of an event says
//! how much of every ledger was told, so that who comes again with it misses nothing.

use super::access::{Refused, Token};
use super::answer::Body;
use super::site::Site;
use crate::ask::{Ask, Tell, What};
use crate::door::{By, Door};
use crate::reply::Reply;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hutch_model::error_code::ErrorCode;
use hutch_model::hidden;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

/// How often ledgers are looked at: others than this server write into them too.
const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// After so many looks without anything to tell, something is sent, so that a broken connection shows.
const SILENT_LOOKS: u32 = 15;
/// The most entries that are read at once.
const ENTRIES: u32 = 100;
/// Events that wait for a reader.
const WAITING: usize = 16;

/// Somebody who watches.
struct Watcher {
    door: Arc<Door>,
    by: By,
    slugs: Vec<String>,
    /// Of each ledger, the place up to which it was told; none where that is not known yet.
    places: Vec<Option<u64>>,
    sender: mpsc::Sender<Result<Frame<Bytes>, Infallible>>,
    ending: watch::Receiver<bool>,
    _room: OwnedSemaphorePermit,
}

/// Begins to tell.
pub(super) fn answer(site: &Site, parts: &Parts, token: &Token) -> Result<Response<Body>, Refused> {
    let room = Arc::clone(&site.watchers).try_acquire_owned();
    let room = room.map_err(|_| {
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ServerBusy, "there are too many who watch")
    })?;
    let slugs = site.slugs();
    let told = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let places = slugs.iter().map(|slug| place(told, slug)).collect();
    let (sender, events) = mpsc::channel(WAITING);
    // What watchers look at takes nothing from what the same caller has done.
    let by = By { lane: format!("{} events", token.name()).into(), ..By::default() };
    let (door, ending) = (Arc::clone(&site.door), site.ending.clone());
    tokio::spawn(Watcher { door, by, slugs, places, sender, ending, _room: room }.tell());
    let mut response = Response::new(StreamBody::new(ReceiverStream::new(events)).boxed());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// How much of a ledger an id says was told.
fn place(told: &str, slug: &str) -> Option<u64> {
    told.split(' ').find_map(|one| one.split_once(':').filter(|(name, _)| *name == slug)?.1.parse().ok())
}

impl Watcher {
    /// Tells until nobody listens, or serving ends.
    async fn tell(mut self) {
        let (mut done, mut silent, mut began) = (self.door.done(), 0, false);
        loop {
            let mut told = 0;
            for package in 0..self.slugs.len() {
                match self.look(package).await {
                    Some(count) => told += count,
                    None => return,
                }
            }
            // From now on nothing is missed by who goes and comes again.
            if !began && told == 0 {
                began = true;
                let id = format!("id: {}\n\n", self.id());
                if !self.send(id).await {
                    return;
                }
            }
            silent = if told > 0 { 0 } else { silent + 1 };
            if silent >= SILENT_LOOKS {
                silent = 0;
                if !self.send(":\n\n".to_owned()).await {
                    return;
                }
            }
            if told > 0 {
                continue;
            }
            tokio::select! {
                _ = done.changed() => {}
                () = tokio::time::sleep(LOOKED_EVERY) => {}
                () = self.sender.closed() => return,
                _ = self.ending.wait_for(|ending| *ending) => return,
            }
        }
    }

    /// Tells what one ledger has more; how much that was, or nothing if nobody listens.
    async fn look(&mut self, package: usize) -> Option<usize> {
        let after = self.places.get(package).copied().flatten();
        let what = What::Told(Tell::Since { after, limit: ENTRIES });
        // Where there is no room now, there is later.
        let Ok(mut taken) = self.door.take(Ask { package, what }, self.by.clone()) else { return Some(0) };
        let Ok(Reply::Done { document, .. }) = (&mut taken.reply).await else { return Some(0) };
        let items = document["items"].as_array().cloned().unwrap_or_default();
        // A place that the ledger does not have, as after a restore, is one that nobody was told of.
        let last = document["last"].as_u64();
        if after.is_none_or(|after| last.is_some_and(|last| after > last))
            && let Some(place) = self.places.get_mut(package)
        {
            *place = last;
        }
        for item in &items {
            if let (Some(place), Some(sequence)) = (self.places.get_mut(package), item["sequence"].as_u64()) {
                *place = Some(sequence);
            }
            let event = self.event(package, item);
            if !self.send(event).await {
                return None;
            }
        }
        Some(items.len())
    }

    fn id(&self) -> String {
        let places =
            self.slugs.iter().zip(&self.places).filter_map(|(slug, place)| Some(format!("{slug}:{}", (*place)?)));
        places.collect::<Vec<_>>().join(" ")
    }

    fn event(&self, package: usize, item: &Value) -> String {
        let id = self.id();
        let slug = self.slugs.get(package).map(String::as_str).unwrap_or_default();
        let mut item = item.clone();
        item["package"] = slug.into();
        format!("id: {id}\nevent: entry\ndata: {}\n\n", hidden::escaped(&item.to_string()))
    }

    async fn send(&mut self, text: String) -> bool {
        tokio::select! {
            sent = self.sender.send(Ok(Frame::data(text.into()))) => sent.is_ok(),
            _ = self.ending.wait_for(|ending| *ending) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_how_much_of_every_ledger_was_told() {
        let told = "todo:12 probe:4 x:y";
        assert_eq!((place(told, "todo"), place(told, "probe")), (Some(12), Some(4)));
        assert_eq!((place(told, "x"), place(told, "tod"), place("", "todo")), (None, None, None));
    }
}
