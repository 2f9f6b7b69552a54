//! One connection: whose it is, what is under way on it, what of its answers is not sent and how fast that goes out. Knows no requests.

use crate::door::Unsent;
use crate::room::{Place, Room};
use crate::who::Principal;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// The fewest bytes of an answer that a caller takes in a second, however many wait.
const SENT_BYTES_MIN: u64 = 16 << 10;

/// The connections on which nothing is under way and nothing is to be sent. When there is no room for another, one of them ends.
#[derive(Default)]
pub(super) struct Idle(Mutex<Waiting>);

/// Each with whose known token came last on it and with what ends it, the one that has waited longest first.
#[derive(Default)]
struct Waiting {
    next: u64,
    connections: BTreeMap<u64, (Option<Arc<str>>, CancellationToken)>,
}

impl Waiting {
    /// The one that ends for another: of those on which no known token came, else of the caller that has most of them, the one that has waited
    /// longest.
    fn least(&self) -> Option<u64> {
        let mut each: BTreeMap<Option<&str>, (usize, u64)> = BTreeMap::new();
        for (number, (whose, _)) in &self.connections {
            each.entry(whose.as_deref()).or_insert((0, *number)).0 += 1;
        }
        let most = || each.values().max_by_key(|(count, first)| (*count, Reverse(*first)));
        each.get(&None::<&str>).or_else(most).map(|(_, first)| *first)
    }
}

impl Idle {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends one of them, if there is one.
    pub(super) fn end_one(&self) -> bool {
        let mut waiting = self.waiting();
        let ended = waiting.least().and_then(|number| waiting.connections.remove(&number));
        ended.is_some_and(|(_, end)| {
            end.cancel();
            true
        })
    }
}

/// One connection.
pub(super) struct Connection {
    idle: Arc<Idle>,
    pub(super) end: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whose known token came last on it.
    whose: Option<Arc<str>>,
    /// Its place among those that wait.
    waits: Option<u64>,
    /// What it has of its caller's room while something is under way, and then until the answer is sent, something else comes or it ends.
    held: Option<Place>,
    /// What is to be sent.
    unsent: Vec<Arc<Unsent>>,
    /// Whether all is answered that came.
    is_answered: bool,
}

impl Connection {
    /// On which nothing has come yet.
    pub(super) fn begin(idle: &Arc<Idle>) -> Arc<Connection> {
        let (end, state) = (CancellationToken::new(), Mutex::default());
        let connection = Connection { idle: Arc::clone(idle), end, state };
        connection.rest();
        Arc::new(connection)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is under way on it.
    pub(super) fn work(&self) {
        let mut state = self.state();
        state.is_answered = false;
        if let Some(number) = state.waits.take() {
            self.idle.waiting().connections.remove(&number);
        }
    }

    /// Takes room for what came on it, if it came with a known token; whether there is any.
    pub(super) fn hold(&self, callers: &Arc<Room>, known: Option<&Principal>) -> bool {
        let mut state = self.state();
        // What came before may have been another caller's.
        state.held = None;
        let Some(principal) = known else { return true };
        state.whose = Some(Arc::clone(principal.name()));
        state.held = callers.take(principal);
        state.held.is_some()
    }

    /// So much is to be sent on it.
    pub(super) fn send(&self, unsent: Arc<Unsent>) {
        self.state().unsent.push(unsent);
    }

    /// That is all of the answer: nothing is under way once it is sent.
    pub(super) fn answer(&self, unsent: Arc<Unsent>) {
        let mut state = self.state();
        state.unsent.push(unsent);
        state.is_answered = true;
    }

    /// Nothing is under way on it.
    pub(super) fn rest(&self) {
        self.wait(&mut self.state());
    }

    fn wait(&self, state: &mut State) {
        state.held = None;
        let mut waiting = self.idle.waiting();
        waiting.next += 1;
        let number = waiting.next;
        waiting.connections.insert(number, (state.whose.clone(), self.end.clone()));
        state.waits = Some(number);
    }

    /// All that was to be sent on it is.
    fn sent(&self) {
        let mut state = self.state();
        let sent = std::mem::take(&mut state.unsent);
        if std::mem::take(&mut state.is_answered) {
            self.wait(&mut state);
        }
        drop(state);
        drop(sent);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.work();
    }
}

/// How fast what waits to be sent goes out.
struct Pace {
    /// How long a caller may take besides.
    within: Duration,
    /// Since when it waits, and how many bytes went out meanwhile.
    waits: Option<(Instant, u64)>,
    late: Pin<Box<Sleep>>,
}

impl Pace {
    fn new(within: Duration) -> Pace {
        Pace { within, waits: None, late: Box::pin(sleep(within)) }
    }

    /// What came of writing, unless too little went out by now.
    fn kept(&mut self, context: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        match (&written, &mut self.waits) {
            (Poll::Ready(Ok(bytes)), Some((_, sent))) => *sent += *bytes as u64,
            (Poll::Pending, waits) => {
                let (since, sent) = *waits.get_or_insert_with(|| (Instant::now(), 0));
                let until = since + self.within + Duration::from_secs(sent / SENT_BYTES_MIN);
                self.late.as_mut().reset(until);
                ready!(self.late.as_mut().poll(context));
                return Poll::Ready(Err(Error::from(ErrorKind::TimedOut)));
            }
            _ => {}
        }
        written
    }
}

/// What is read and written of a connection.
pub(super) struct Wire {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    connection: Arc<Connection>,
    pace: Pace,
}

impl Wire {
    /// One whose other end may leave what is sent unread for so long.
    pub(super) fn new(stream: TcpStream, connection: Arc<Connection>, within: Duration) -> Wire {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(within));
        Wire { stream: Box::pin(stream), connection, pace: Pace::new(within) }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        self.stream.as_mut().poll_read(context, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = self.stream.as_mut().poll_write(context, bytes);
        self.pace.kept(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = self.stream.as_mut().poll_write_vectored(context, bytes);
        self.pace.kept(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Whoever writes has handed on all that there is by then.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = ready!(self.stream.as_mut().poll_flush(context));
        if flushed.is_ok() {
            self.pace.waits = None;
            self.connection.sent();
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Door;
    use std::future::poll_fn;
    use std::task::Waker;

    #[test]
    fn who_has_most_connections_makes_room_and_none_that_is_answered_still() {
        let (idle, door) = (Arc::<Idle>::default(), Door::unattended());
        let room = Room::new(9, 99);
        let begin = |name: Option<&str>| {
            let connection = Connection::begin(&idle);
            let known = name.map(|name| Principal::admitted(name, &[]));
            connection.work();
            assert!(connection.hold(&room, known.as_ref()));
            connection
        };
        let answered = |name: &str| {
            let connection = begin(Some(name));
            connection.answer(Arc::new(door.hold(&name.into(), 7)));
            connection
        };
        let reads = answered("one");
        let [first, second, third] = ["one", "two", "two"].map(answered);
        assert_eq!((door.unsent("one"), door.unsent("two"), idle.end_one()), (14, 14, false));
        for connection in [&first, &second, &third] {
            connection.sent();
        }
        assert_eq!((door.unsent("one"), door.unsent("two")), (7, 0));
        let unknown = begin(None);
        unknown.rest();
        let ended = || [&reads, &first, &second, &third, &unknown].map(|connection| connection.end.is_cancelled());
        for expected in [
            [false, false, false, false, true],
            [false, false, true, false, true],
            [false, true, true, false, true],
            [false, true, true, true, true],
        ] {
            assert!(idle.end_one());
            assert_eq!(ended(), expected);
        }
        // What is read slowly ends for nobody.
        assert!(!idle.end_one());
        reads.sent();
        assert!(idle.end_one() && reads.end.is_cancelled());
        // What comes on it again is under way until it is answered, however often all is sent.
        let again = answered("one");
        again.sent();
        again.work();
        again.sent();
        assert!(!idle.end_one());
        drop(again);
        assert_eq!(idle.waiting().connections.len(), 0);
    }

    #[test]
    fn who_takes_less_than_so_much_is_not_sent_the_rest() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut pace = Pace::new(Duration::ZERO);
            let late = poll_fn(|context| pace.kept(context, Poll::Pending)).await;
            assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
            // Who took much has so much longer.
            let mut pace = Pace::new(Duration::ZERO);
            let context = &mut Context::from_waker(Waker::noop());
            pace.waits = Some((Instant::now(), 0));
            let many = usize::try_from(3600 * SENT_BYTES_MIN).unwrap();
            assert!(matches!(pace.kept(context, Poll::Ready(Ok(many))), Poll::Ready(Ok(bytes)) if bytes == many));
            assert!(pace.kept(context, Poll::Pending).is_pending());
        });
    }
}
