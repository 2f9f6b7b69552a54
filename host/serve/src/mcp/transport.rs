//! What stands between the wire and the library, against clients that break rules: lines that are no messages, two requests under one
//! number, messages before the first request, input that ends while calls are under way, and output that nobody reads.

use super::handler::{Desk, unfit};
use super::lines::Lines;
use super::message::{self, Refusal};
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

/// How long what is under way may go on after the input has ended. Clients give a server about two seconds.
const GRACE: Duration = Duration::from_secs(1);
/// How long what was stopped then may take to say so.
const STOPPING: Duration = Duration::from_secs(5);

/// How many refusals may wait until somebody reads them: with more, nothing is read either.
const REFUSALS_MAX: usize = 1024;

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

#[derive(Default)]
struct Ids {
    open: HashSet<RequestId>,
    /// How many refusals are not sent yet: each answers what was not handed on, whatever its number.
    refusals: usize,
    /// Those that get none: what comes of them late would be taken for the answer to a new one of the same number.
    cancelled: VecDeque<RequestId>,
}

impl Open {
    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its number is free.
    fn insert(&self, id: &RequestId) -> bool {
        let mut ids = self.ids();
        !ids.cancelled.contains(id) && ids.open.insert(id.clone())
    }

    fn answer(&self, id: &RequestId) {
        self.ids().open.remove(id);
        self.answered.notify_one();
    }

    /// One more refusal is to be sent.
    fn refuse(&self) {
        self.ids().refusals += 1;
    }

    /// And is.
    fn refused(&self) {
        self.ids().refusals -= 1;
        self.answered.notify_one();
    }

    /// Waits until there is room for one more.
    async fn room(&self) {
        while self.ids().refusals >= REFUSALS_MAX {
            self.answered.notified().await;
        }
    }

    /// What was to be sent reached whoever reads, or nobody does.
    fn sent(&self, is_sent: bool) {
        if !is_sent {
            self.unread.notify_one();
        }
    }

    fn cancel(&self, id: &RequestId) {
        let mut ids = self.ids();
        if ids.open.remove(id) {
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
        ids.open.is_empty() && ids.refusals == 0
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

/// The next message, once there is room for its refusal.
async fn receive<R, W>(lines: &mut Lines<R, W>, open: &Open) -> Option<Result<RxJsonRpcMessage<RoleServer>, Refusal>>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
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

    /// Answers what is not handed on, beside what else is sent: whoever reads slowly keeps nothing from being read.
    fn refuse(&self, answer: TxJsonRpcMessage<RoleServer>) {
        let (sent, open) = (self.lines.send(answer), Arc::clone(&self.open));
        open.refuse();
        tokio::spawn(async move {
            open.sent(sent.await.is_ok());
            open.refused();
        });
    }

    /// Whether a message is handed on.
    fn admit(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::CustomRequest(custom) = &request.request
                    && let Some(refusal) = unfit(custom, custom.get_meta().protocol_version().as_ref())
                {
                    self.refuse(JsonRpcMessage::error(refusal, Some(request.id.clone())));
                    return false;
                }
                self.begun |= begins(&request.request);
                let is_new = self.open.insert(&request.id);
                if !is_new {
                    // Without a number: the first of the two is to get its own answer.
                    let refusal =
                        format!("the number {} was given to another request: give every one its own", request.id);
                    let refusal =
                        JsonRpcMessage::error(message::error(ErrorCode::INVALID_REQUEST, refusal, Some("/id")), None);
                    self.refuse(refusal);
                }
                is_new
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
        let (sent, open) = (self.lines.send(item), Arc::clone(&self.open));
        async move {
            let sent = sent.await;
            open.sent(sent.is_ok());
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
                Some(Ok(message)) if self.admit(&message) => return Some(message),
                Some(Err(refusal)) if refusal.is_awaited => self.refuse(*refusal.answer),
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
    use super::*;

    #[test]
    fn so_many_cancellations_are_remembered_and_the_oldest_is_forgotten() {
        let (open, id) = (Open::default(), |number: usize| RequestId::Number(number as i64));
        // What was never begun is not remembered: a client may name whatever it likes.
        open.cancel(&id(0));
        assert_eq!(open.ids().cancelled.len(), 0);
        for number in 0..=CANCELLED_MAX {
            assert!(open.insert(&id(number)));
            open.cancel(&id(number));
        }
        assert_eq!(open.ids().cancelled.len(), CANCELLED_MAX);
        assert!(open.is_empty());
        assert!(open.insert(&id(0)) && !open.insert(&id(1)) && !open.insert(&id(CANCELLED_MAX)));
    }

    #[test]
    fn so_many_refusals_wait_and_then_nothing_is_read() {
        let open = Open::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for _ in 0..REFUSALS_MAX {
                open.room().await;
                open.refuse();
            }
            let mut room = std::pin::pin!(open.room());
            tokio::select! {
                biased;
                () = &mut room => panic!("there is room for one more"),
                () = std::future::ready(()) => {}
            }
            open.refused();
            room.await;
        });
    }
}
