//! The ledgers of all packages as they grow, as server-sent events: for each entry the item that a list has of it. The id of an event says
//! how much of every ledger was told, so that who comes again with it misses nothing.

use super::access::Refused;
use super::answer::Body;
use super::site::Site;
use crate::ask::{Ask, Tell, What};
use crate::door::{By, Door};
use crate::reply::Reply;
use crate::room::Place;
use crate::who::Principal;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
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
    _place: Place,
}

/// What looking at a ledger came to.
enum Look {
    /// So many entries were told that were not before.
    Told(usize),
    /// It could not be looked at: whether there is anything new is not known.
    Unknown,
    /// Nobody listens any more.
    Gone,
}

/// Begins to tell.
pub(super) fn answer(site: &Site, parts: &Parts, principal: &Principal) -> Result<Response<Body>, Refused> {
    let room = site.watchers.take(principal);
    let place = room.ok_or_else(|| {
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ServerBusy, "there are too many who watch")
    })?;
    let slugs = site.slugs();
    let told = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let places = slugs.iter().map(|slug| place_in(told, slug)).collect();
    let (sender, events) = mpsc::channel(WAITING);
    let (door, ending, by) = (Arc::clone(&site.door), site.ending.clone(), By::watching(principal));
    tokio::spawn(Watcher { door, by, slugs, places, sender, ending, _place: place }.tell());
    let mut response = Response::new(StreamBody::new(ReceiverStream::new(events)).boxed());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Whether a failure says that there is too much to do, and nothing of the ledger.
fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::ServerBusy | ErrorCode::InstanceBusy | ErrorCode::Cancelled | ErrorCode::AnswerLost)
}

/// How much of a ledger an id says was told.
fn place_in(told: &str, slug: &str) -> Option<u64> {
    told.split(' ').find_map(|one| one.split_once(':').filter(|(name, _)| *name == slug)?.1.parse().ok())
}

impl Watcher {
    /// Tells until nobody listens, or serving ends.
    async fn tell(mut self) {
        let (mut done, mut silent, mut began) = (self.door.done(), 0, false);
        loop {
            let (mut told, mut unknown) = (0, false);
            for package in 0..self.slugs.len() {
                // Before the place of every ledger is known, an id would leave one out, and who came again with it would miss what
                // was added to that one meanwhile.
                if !began && self.places.get(package).is_some_and(Option::is_some) {
                    continue;
                }
                match self.look(package).await {
                    Look::Told(count) => told += count,
                    Look::Unknown => unknown = true,
                    Look::Gone => return,
                }
            }
            // From now on nothing is missed by who goes and comes again.
            if !began && !unknown {
                began = true;
                let id = format!("id: {}\n\n", self.id());
                if !self.send(id).await {
                    return;
                }
                continue;
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

    /// Tells what one ledger has more.
    async fn look(&mut self, package: usize) -> Look {
        let after = self.places.get(package).copied().flatten();
        let what = What::Told(Tell::Since { after, limit: ENTRIES });
        // Where there is no room now, there is later.
        let Ok(mut taken) = self.door.take(Ask { package, what }, self.by.clone()) else { return Look::Unknown };
        let document = match (&mut taken.reply).await {
            Ok(Reply::Done { document, .. }) => document,
            Ok(Reply::Failed { report, .. }) if !is_passing(report.code) => {
                // It keeps nobody from what others have to tell; once it can be read, all of it is new.
                if let Some(place) = self.places.get_mut(package) {
                    place.get_or_insert(0);
                }
                return Look::Told(0);
            }
            _ => return Look::Unknown,
        };
        let items = document["items"].as_array().cloned().unwrap_or_default();
        // A place that the ledger does not have, as after a restore, is one that nobody was told of.
        let last = document["last"].as_u64();
        let is_beyond = after.is_some_and(|after| last.is_some_and(|last| after > last));
        if (after.is_none() || is_beyond)
            && let Some(place) = self.places.get_mut(package)
        {
            *place = last;
        }
        // Whoever comes again with that place would miss all up to it.
        let id = format!("id: {}\n\n", self.id());
        if is_beyond && !self.send(id).await {
            return Look::Gone;
        }
        for item in &items {
            if let (Some(place), Some(sequence)) = (self.places.get_mut(package), item["sequence"].as_u64()) {
                *place = Some(sequence);
            }
            let event = self.event(package, item);
            if !self.send(event).await {
                return Look::Gone;
            }
        }
        Look::Told(items.len())
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
        format!("id: {id}\nevent: entry\ndata: {}\n\n", document::written(&item.to_string()))
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
    use crate::room::Room;
    use hutch_model::error_report::ErrorReport;
    use serde_json::json;

    #[test]
    fn nothing_is_told_before_the_place_of_every_ledger_is_known() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let door = Arc::new(Door::unattended());
            let principal = Principal::admitted("one", &[]);
            let ((sender, mut events), (_end, ending)) = (mpsc::channel(WAITING), watch::channel(false));
            let watcher = Watcher {
                door: Arc::clone(&door),
                by: By::watching(&principal),
                slugs: vec!["a".to_owned(), "b".to_owned()],
                places: vec![None, None],
                sender,
                ending,
                _place: Room::new(1, 1).take(&principal).unwrap(),
            };
            let telling = tokio::spawn(watcher.tell());
            let place = |last: u64| Reply::done(json!({"last": last, "items": []}));
            door.attend(place(5)).await;
            // There was no room for the other: it is not known what is new there.
            door.attend(Reply::failed(ErrorReport::new(ErrorCode::ServerBusy, "full"))).await;
            // The first is not looked at again before; something is added to the other meanwhile.
            door.attend(place(7)).await;
            let text = |frame: Option<Result<Frame<Bytes>, Infallible>>| {
                let Some(Ok(frame)) = frame else { panic!("nothing is told any more") };
                String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
            };
            assert_eq!(text(events.recv().await), "id: a:5 b:7\n\n");
            // A ledger that can't be read keeps nobody from the other.
            door.attend(Reply::failed(ErrorReport::new(ErrorCode::HostFault, "damaged"))).await;
            door.attend(Reply::done(json!({"last": 8, "items": [{"sequence": 8}]}))).await;
            assert!(text(events.recv().await).starts_with("id: a:5 b:8\nevent: entry\n"));
            // The second is another one now, as after a restore: who comes again says where that one was.
            door.attend(Reply::done(json!({"last": 9, "items": []}))).await;
            door.attend(place(3)).await;
            assert_eq!(text(events.recv().await), "id: a:5 b:3\n\n");
            telling.abort();
        });
    }

    #[test]
    fn an_id_says_how_much_of_every_ledger_was_told() {
        let told = "todo:12 probe:4 x:y";
        assert_eq!((place_in(told, "todo"), place_in(told, "probe")), (Some(12), Some(4)));
        assert_eq!((place_in(told, "x"), place_in(told, "tod"), place_in("", "todo")), (None, None, None));
    }
}
