//! The ledgers of all packages as they grow, as server-sent events: for each entry the item that a list has of it. The id of an event says
//! how much of every ledger was told, and of which ledger, so that who comes again with it misses nothing.

use super::access::Refused;
use super::answer::Body;
use super::listen::{EndsItself, Peer};
use super::site::Site;
use crate::ask::{Ask, Mark, Tell, What};
use crate::door::{By, Door};
use crate::reply::Reply;
use crate::room::Place;
use crate::who::Principal;
use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
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
    places: Vec<Option<Mark>>,
    sender: mpsc::Sender<Result<Frame<Bytes>, Infallible>>,
    ending: watch::Receiver<bool>,
    /// The other end, if there is a connection.
    peer: Option<Peer>,
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
    let place = site.watcher(principal)?;
    let slugs = site.slugs();
    let told = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let places = slugs.iter().map(|slug| place_in(told, slug)).collect();
    let (sender, events) = mpsc::channel(WAITING);
    let (door, ending, by) = (Arc::clone(&site.door), site.ending.clone(), By::watching(principal));
    let peer = parts.extensions.get::<Peer>().cloned();
    tokio::spawn(Watcher { door, by, slugs, places, sender, ending, peer, _place: place }.tell());
    let mut response = Response::new(StreamBody::new(ReceiverStream::new(events)).boxed());
    response.extensions_mut().insert(EndsItself);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Ends when a caller sends nothing more.
async fn left(peer: Option<&Peer>) {
    match peer {
        Some(peer) => peer.left().await,
        None => std::future::pending().await,
    }
}

/// Whether a failure says that there is too much to do, and nothing of the ledger.
fn is_passing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::ServerBusy | ErrorCode::InstanceBusy | ErrorCode::Cancelled | ErrorCode::AnswerLost)
}

/// How much of a ledger an id says was told.
fn place_in(told: &str, slug: &str) -> Option<Mark> {
    let mut all = told.split(' ').filter_map(|one| one.split_once(':'));
    all.find(|(name, _)| *name == slug).map(|(_, place)| Mark::written(place))
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
                // Whether it is gone or has only said all, it was told all that there is.
                () = left(self.peer.as_ref()), if began && !unknown => return,
                _ = self.ending.wait_for(|ending| *ending) => return,
            }
        }
    }

    /// Tells what one ledger has more.
    async fn look(&mut self, package: usize) -> Look {
        let after = self.places.get(package).cloned().flatten();
        let is_begin = after.is_none();
        let what = What::Told(Tell::Since { after, limit: ENTRIES });
        // Where there is no room now, there is later.
        let Ok(mut taken) = self.door.take(Ask { package, what }, self.by.clone()) else { return Look::Unknown };
        let document = match (&mut taken.reply).await {
            Ok(Reply::Done { document, .. }) => document,
            Ok(Reply::Failed { report, .. }) if !is_passing(report.code) => {
                // It keeps nobody from what others have to tell; once it can be read, all of it is new.
                if let Some(place) = self.places.get_mut(package) {
                    place.get_or_insert_default();
                }
                return Look::Told(0);
            }
            _ => return Look::Unknown,
        };
        let items = document["items"].as_array().cloned().unwrap_or_default();
        if let Some(place) = self.places.get_mut(package).filter(|_| is_begin) {
            *place = Mark::of(&document["last"]);
        }
        for item in &items {
            if let (Some(place), Some(mark)) = (self.places.get_mut(package), Mark::of(item)) {
                *place = Some(mark);
            }
            let event = self.event(package, item);
            if !self.send(event).await {
                return Look::Gone;
            }
        }
        Look::Told(items.len())
    }

    fn id(&self) -> String {
        let places = self.slugs.iter().zip(&self.places).filter_map(|(slug, place)| {
            let Mark { sequence, digits } = place.as_ref()?;
            Some(format!("{slug}:{sequence}:{digits}"))
        });
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
                peer: None,
                _place: Room::new(1, 1).take(&principal).unwrap(),
            };
            let telling = tokio::spawn(watcher.tell());
            let entry = |place: u64, digit: &str| json!({"sequence": place, "hash": digit.repeat(64)});
            let place = |last: u64| Reply::done(json!({"last": entry(last, "e"), "items": []}));
            let id = |a: u64, b: u64, digit: &str| format!("id: a:{a}:{} b:{b}:{}\n", "e".repeat(16), digit.repeat(16));
            door.attend(place(5)).await;
            // There was no room for the other: it is not known what is new there.
            door.attend(Reply::failed(ErrorReport::new(ErrorCode::ServerBusy, "full"))).await;
            // The first is not looked at again before; something is added to the other meanwhile.
            door.attend(place(7)).await;
            let text = |frame: Option<Result<Frame<Bytes>, Infallible>>| {
                let Some(Ok(frame)) = frame else { panic!("nothing is told any more") };
                String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
            };
            assert_eq!(text(events.recv().await), format!("{}\n", id(5, 7, "e")));
            // A ledger that can't be read keeps nobody from the other.
            door.attend(Reply::failed(ErrorReport::new(ErrorCode::HostFault, "damaged"))).await;
            door.attend(Reply::done(json!({"last": entry(8, "e"), "items": [entry(8, "e")]}))).await;
            assert!(text(events.recv().await).starts_with(&format!("{}event: entry\n", id(5, 8, "e"))));
            // The second is another one now, as after a restore: who comes again says which one was told.
            door.attend(place(5)).await;
            door.attend(Reply::done(json!({"last": entry(3, "f"), "items": [entry(1, "f")]}))).await;
            assert!(text(events.recv().await).starts_with(&format!("{}event: entry\n", id(5, 1, "f"))));
            telling.abort();
        });
    }

    #[test]
    fn an_id_says_how_much_of_every_ledger_was_told() {
        let told = "todo:12:0123456789abcdef probe:4 x:y short:1:0 long:1:0123456789abcdef0 other:1:0123456789abcdeg";
        let mark = |sequence, digits: &str| Some(Mark { sequence, digits: digits.to_owned() });
        assert_eq!(place_in(told, "todo"), mark(12, "0123456789abcdef"));
        // Of no ledger: all of each is told.
        for slug in ["probe", "x", "short", "long", "other"] {
            assert_eq!(place_in(told, slug), mark(0, ""), "{slug}");
        }
        assert_eq!((place_in(told, "tod"), place_in("", "todo")), (None, None));
    }
}
