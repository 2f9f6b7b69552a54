//! What stands between the wire and the library, against clients that break rules: lines that are no messages, two requests under one
//! number, messages before the first request, input that ends while calls are under way, and output that nobody reads.

use super::handler::{Desk, unfit};
use super::lines::{self, Lines};
use super::message::{self, Refusal};
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

/// How long what is under way may go on after the input has ended. Clients give a server about two seconds.
const GRACE: Duration = Duration::from_secs(1);
/// How long what was stopped then may take to say so.
const STOPPING: Duration = Duration::from_secs(5);

/// How many messages may wait until somebody reads them: with more, nothing is read either. As many requests may be under way: one more is
/// refused, and what else comes is read, because what is asked of the client may be answered behind them.
const MESSAGES_MAX: usize = 1024;
/// The most bytes of them. The last one may have more.
const MESSAGES_BYTES_MAX: usize = 64 << 20;

/// How many cancelled requests are remembered.
const CANCELLED_MAX: usize = 1024;

/// What has no answer yet.
#[derive(Default)]
struct Open {
    ids: Mutex<Ids>,
    answered: Notify,
    /// Whether nobody reads what is sent.
    unread: Notify,
}

/// Messages that take memory.
#[derive(Default)]
struct Held {
    number: usize,
    bytes: usize,
}

impl Held {
    fn add(&mut self, bytes: usize) {
        self.number += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.number -= 1;
        self.bytes -= bytes;
    }

    fn is_full(&self) -> bool {
        self.number >= MESSAGES_MAX || self.bytes >= MESSAGES_BYTES_MAX
    }
}

#[derive(Default)]
struct Ids {
    /// Requests whose answer is not out, each with its bytes until it has one.
    open: HashMap<RequestId, Option<usize>>,
    /// Those that have none yet.
    under_way: Held,
    /// What is to be sent and not out: answers, refusals of what was not handed on, whatever its number, questions and notes.
    unsent: Held,
    /// Those that get none: what comes of them late would be taken for the answer to a new one of the same number.
    cancelled: VecDeque<RequestId>,
}

impl Ids {
    /// A request has its answer.
    fn end(&mut self, id: &RequestId) {
        if let Some(bytes) = self.open.get_mut(id).and_then(Option::take) {
            self.under_way.remove(bytes);
        }
    }

    /// Its number is free; says whether it was not.
    fn remove(&mut self, id: &RequestId) -> bool {
        self.end(id);
        self.open.remove(id).is_some()
    }
}

/// Whether a request may be handed on.
#[derive(PartialEq, Eq, Debug)]
enum Inserted {
    Yes,
    /// Another one has its number.
    Taken,
    /// So many are under way.
    Full,
}

impl Open {
    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request of so many bytes has come.
    fn insert(&self, id: &RequestId, bytes: usize) -> Inserted {
        let mut ids = self.ids();
        if ids.cancelled.contains(id) || ids.open.contains_key(id) {
            return Inserted::Taken;
        }
        if ids.under_way.is_full() {
            return Inserted::Full;
        }
        ids.open.insert(id.clone(), Some(bytes));
        ids.under_way.add(bytes);
        Inserted::Yes
    }

    fn answer(&self, id: &RequestId) {
        self.ids().remove(id);
        self.answered.notify_one();
    }

    /// Waits until there is room for one more.
    async fn room(&self) {
        while self.ids().unsent.is_full() {
            self.answered.notified().await;
        }
    }

    /// What was to be sent reached whoever reads, or nobody does.
    fn sent(&self, bytes: usize, is_sent: bool) {
        self.ids().unsent.remove(bytes);
        self.answered.notify_one();
        if !is_sent {
            self.unread.notify_one();
        }
    }

    fn cancel(&self, id: &RequestId) {
        let mut ids = self.ids();
        if ids.remove(id) {
            if ids.cancelled.len() >= CANCELLED_MAX {
                ids.cancelled.pop_front();
            }
            ids.cancelled.push_back(id.clone());
        }
        drop(ids);
        self.answered.notify_one();
    }

    fn is_empty(&self) -> bool {
        let ids = self.ids();
        ids.open.is_empty() && ids.unsent.number == 0
    }
}

/// Whether a request begins a session, in the one lifecycle or the other; what only looks whether anybody is there does not, nor does one
/// that will be refused.
fn begins(request: &ClientRequest) -> bool {
    let meta = request.get_meta();
    let is_known = meta.protocol_version().is_some_and(|version| version == ProtocolVersion::V_2026_07_28);
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        _ => is_known && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}

/// The next message and its bytes, once there is room for its answer.
async fn receive<R, W>(
    lines: &mut Lines<R, W>,
    open: &Open,
) -> Option<(usize, Result<RxJsonRpcMessage<RoleServer>, Refusal>)>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    // What the last one came to at once is sent before, and counted.
    yield_now().await;
    open.room().await;
    lines.receive().await
}

/// A transport that keeps the rules on behalf of its client.
pub(super) struct Guarded<R, W> {
    lines: Lines<R, W>,
    desk: Arc<Desk>,
    open: Arc<Open>,
    /// Whether a request has come by which a session begins.
    begun: bool,
    /// Until when what is under way may go on, once the input has ended; then, until when it may say that it was stopped.
    until: Option<(Instant, bool)>,
}

impl<R, W> Guarded<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(super) fn new(lines: Lines<R, W>, desk: Arc<Desk>) -> Guarded<R, W> {
        Guarded { lines, desk, open: Arc::default(), begun: false, until: None }
    }

    /// Writes a message, behind those that are being written, and holds it until it is out.
    fn write(
        &self,
        item: &TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + use<R, W> {
        let (line, open) = (lines::line(item), Arc::clone(&self.open));
        let bytes = line.as_ref().map_or(0, String::len);
        open.ids().unsent.add(bytes);
        let unsent = self.desk.hold(bytes);
        let sent = line.map(|line| self.lines.send(line));
        async move {
            let sent = match sent {
                Ok(sent) => sent.await,
                Err(error) => Err(error),
            };
            open.sent(bytes, sent.is_ok());
            drop(unsent);
            sent
        }
    }

    /// Answers what is not handed on, beside what else is sent: whoever reads slowly keeps nothing from being read.
    fn refuse(&self, answer: &TxJsonRpcMessage<RoleServer>) {
        tokio::spawn(self.write(answer));
    }

    /// Whether a message of so many bytes is handed on.
    fn admit(&mut self, message: &RxJsonRpcMessage<RoleServer>, bytes: usize) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::CustomRequest(custom) = &request.request
                    && let Some(refusal) = unfit(custom, custom.get_meta().protocol_version().as_ref())
                {
                    self.refuse(&JsonRpcMessage::error(refusal, Some(request.id.clone())));
                    return false;
                }
                self.begun |= begins(&request.request);
                let refusal = match self.open.insert(&request.id, bytes) {
                    Inserted::Yes => return true,
                    // Without a number: the first of the two is to get its own answer.
                    Inserted::Taken => {
                        let reason = "was given to another request: give every one its own";
                        let reason = format!("the number {} {reason}", request.id);
                        JsonRpcMessage::error(message::error(ErrorCode::INVALID_REQUEST, reason, Some("/id")), None)
                    }
                    Inserted::Full => {
                        let reason = format!("{MESSAGES_MAX} requests, or {MESSAGES_BYTES_MAX} bytes, have no answer");
                        JsonRpcMessage::error(message::busy(reason), Some(request.id.clone()))
                    }
                };
                self.refuse(&refusal);
                false
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.cancel(id);
                }
                self.begun
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.begun,
        }
    }

    /// Waits until what is under way has been answered; after a while it is stopped. May be given up and begun again at any point.
    async fn end(&mut self) {
        loop {
            let answered = self.open.answered.notified();
            if self.open.is_empty() {
                return;
            }
            let (until, stopped) = *self.until.get_or_insert_with(|| (Instant::now() + GRACE, false));
            tokio::select! {
                () = answered => {}
                () = sleep_until(until) => {
                    if stopped {
                        return;
                    }
                    self.desk.close();
                    self.until = Some((Instant::now() + STOPPING, true));
                }
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Guarded<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = &answered {
            self.open.ids().end(id);
        }
        let (sent, open) = (self.write(&item), Arc::clone(&self.open));
        async move {
            let sent = sent.await;
            if let Some(id) = answered {
                open.answer(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.until.is_none() {
            let message = tokio::select! {
                message = receive(&mut self.lines, &self.open) => message,
                () = self.open.unread.notified() => {
                    self.desk.close();
                    None
                }
            };
            match message {
                Some((bytes, Ok(message))) if self.admit(&message, bytes) => return Some(message),
                Some((_, Err(refusal))) if refusal.is_awaited => self.refuse(&refusal.answer),
                Some(_) => {}
                None => self.until = Some((Instant::now() + GRACE, false)),
            }
        }
        self.end().await;
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // Where nobody reads, what is being written is never out.
        timeout(STOPPING, self.lines.close()).await.unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::handler::Handler;
    use super::super::skills::Skills;
    use super::*;
    use crate::door::Door;
    use crate::telemetry::{Telemetry, Wanted};
    use hutch_model::instant::Instant as Clock;
    use hutch_model::invocation::Seed;
    use rmcp::ServiceExt;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};

    fn number(id: usize) -> RequestId {
        RequestId::Number(id as i64)
    }

    fn is_ready(waits: impl Future<Output = ()>) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(waits).poll(&mut context).is_ready()
    }

    #[test]
    fn so_many_cancellations_are_remembered_and_the_oldest_is_forgotten() {
        let open = Open::default();
        // What was never begun is not remembered: a client may name whatever it likes.
        open.cancel(&number(0));
        assert_eq!(open.ids().cancelled.len(), 0);
        for id in 0..=CANCELLED_MAX {
            assert_eq!(open.insert(&number(id), 9), Inserted::Yes);
            open.cancel(&number(id));
        }
        assert_eq!(open.ids().cancelled.len(), CANCELLED_MAX);
        assert!(open.is_empty() && open.ids().under_way.bytes == 0);
        assert_eq!(open.insert(&number(0), 9), Inserted::Yes);
        assert_eq!([1, CANCELLED_MAX].map(|id| open.insert(&number(id), 9)), [Inserted::Taken, Inserted::Taken]);
    }

    #[test]
    fn so_much_waits_to_be_read_and_then_nothing_is_read() {
        for (count, bytes) in [(MESSAGES_MAX, 9), (4, MESSAGES_BYTES_MAX / 4)] {
            let open = Open::default();
            for _ in 0..count {
                assert!(is_ready(open.room()));
                open.ids().unsent.add(bytes);
            }
            assert!(!is_ready(open.room()) && !open.is_empty(), "{count} of {bytes}");
            open.sent(bytes, true);
            assert!(is_ready(open.room()));
        }
    }

    /// What is asked of the client on their behalf is answered behind them.
    #[test]
    fn so_much_is_under_way_and_what_is_no_request_is_read() {
        for (count, bytes) in [(MESSAGES_MAX, 9), (4, MESSAGES_BYTES_MAX / 4)] {
            let open = Open::default();
            for id in 0..count {
                assert_eq!(open.insert(&number(id), bytes), Inserted::Yes);
            }
            assert_eq!(open.insert(&number(count), bytes), Inserted::Full);
            assert!(is_ready(open.room()));
            // An answer that waits to be read is not under way, and keeps its number.
            open.ids().end(&number(0));
            assert_eq!(open.insert(&number(count), bytes), Inserted::Yes);
            assert_eq!(open.insert(&number(0), bytes), Inserted::Taken);
            open.answer(&number(0));
            open.cancel(&number(1));
            assert_eq!(open.insert(&number(0), bytes), Inserted::Yes);
        }
    }

    /// More is carried out for who reads: see `Door`.
    #[test]
    fn what_a_client_has_not_read_is_counted_at_the_door() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let telemetry = Arc::new(Telemetry::begin(Wanted::default(), Clock::default).unwrap());
            let door = Arc::new(Door::unattended());
            let desk = Desk::new(Arc::clone(&door), Arc::default(), Skills::default(), Seed::default(), telemetry);
            let ((_client_writes, reads), (writes, client_reads)) = (duplex(64), duplex(64));
            let guarded = Guarded::new(Lines::new(reads, writes), Arc::new(desk.unwrap()));
            let answer = JsonRpcMessage::error(message::busy("x".repeat(1000)), None);
            let sent = tokio::spawn(guarded.write(&answer));
            let line = lines::line(&answer).unwrap();
            assert!(line.len() > 1000 && door.unsent("") == line.len(), "{}", door.unsent(""));
            let read = BufReader::new(client_reads).lines().next_line().await.unwrap();
            sent.await.unwrap().unwrap();
            assert_eq!((read.map(|read| read + "\n"), door.unsent("")), (Some(line), 0));
        });
    }

    /// Of answers as of refusals: without a bound, each takes some KiB.
    #[test]
    fn a_client_that_reads_nothing_is_not_read_for_ever() {
        const PINGS: usize = 3 * MESSAGES_MAX;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let telemetry = Telemetry::begin(Wanted::default(), Clock::default).unwrap();
            let (door, catalog, telemetry) = (Arc::new(Door::unattended()), Arc::default(), Arc::new(telemetry));
            let desk = Desk::new(door, catalog, Skills::default(), Seed::default(), telemetry).unwrap();
            let desk = Arc::new(desk);
            let ((mut client_writes, reads), (writes, client_reads)) = (duplex(64), duplex(64));
            let transport = Guarded::new(Lines::new(reads, writes), Arc::clone(&desk));
            let serving = tokio::spawn(async move { Handler(desk).serve(transport).await.unwrap().waiting().await });
            let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}"#;
            client_writes.write_all(format!("{begin}\n").as_bytes()).await.unwrap();
            let mut answers = BufReader::new(client_reads).lines();
            assert!(answers.next_line().await.unwrap().unwrap().contains("serverInfo"));
            let taken = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&taken);
            let writing = tokio::spawn(async move {
                let begun = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
                client_writes.write_all(format!("{begun}\n").as_bytes()).await.unwrap();
                for id in 1..=PINGS {
                    let ping = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
                    client_writes.write_all(ping.as_bytes()).await.unwrap();
                    counted.store(id, Ordering::Relaxed);
                }
                client_writes
            });
            // Nothing more comes of it, however often everybody has a turn.
            let mut before = usize::MAX;
            while before != taken.load(Ordering::Relaxed) {
                before = taken.load(Ordering::Relaxed);
                for _ in 0..1000 {
                    yield_now().await;
                }
            }
            // Beside those whose answers wait, what stands between the two.
            assert!((MESSAGES_MAX..2 * MESSAGES_MAX).contains(&before), "{before}");
            // Who reads again gets all of them.
            for _ in 0..PINGS {
                let answer = answers.next_line().await.unwrap().unwrap();
                assert!(answer.contains("\"result\":"), "{answer}");
            }
            drop(writing.await.unwrap());
            assert!(serving.await.unwrap().is_ok());
        });
    }
}
