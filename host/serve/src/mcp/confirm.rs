//! A person is asked by the client, in the way that its lifecycle has: by a request of the server's while the call waits, or by an
//! answer that says what is missing, after which the call is made again. What comes back is believed only if it was sealed here for this
//! very call, and once.

use super::handler::Desk;
use crate::ask::{Ask, Form, What};
use crate::question::{Change, Lines, Question};
use crate::reply::Reply;
use crate::who::{Principal, Scope};
use hutch::EntryName;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, ProtocolVersion, RequestStateError, SealOptions, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Duration;

/// How long a person may take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(600);
/// The most questions that are known to have been answered. Who asked before the oldest of them, and brings an answer later, is too late.
const ANSWERED_MAX: usize = 4096;
/// Why a caller is not asked.
const MAY_NOT: &str = "its token may not confirm";
/// The name of the one thing that is asked.
const QUESTION: &str = "confirm";

/// The questions that clients were given to bring back, by number, the first of which is 1.
#[derive(Default)]
pub(super) struct Questions {
    asked: u64,
    answered: BTreeSet<u64>,
    /// Up to this one, none is answered any more.
    forgotten: u64,
}

impl Questions {
    fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Whether an answer to this question is the first.
    fn answer(&mut self, number: u64) -> bool {
        let is_first = number > self.forgotten && self.answered.insert(number);
        if self.answered.len() > ANSWERED_MAX {
            self.forgotten = self.answered.pop_first().unwrap_or(self.forgotten);
        }
        is_first
    }
}

/// What is asked of a person, while nothing waits for it here.
#[derive(Serialize, Deserialize)]
struct Sealed {
    number: u64,
    package: usize,
    plan: String,
    answer: Form,
    reason: String,
    /// By which a person carries the plan out.
    line: Option<String>,
}

/// How a question ended.
enum Said {
    Yes,
    No(&'static str),
}

/// What the call of a tool comes to when a person must be asked.
pub(super) enum Asked {
    /// The person agreed: this is to be done.
    Do(Ask),
    /// Nothing is done.
    Refused(Reply),
    /// The client is to ask, and to make the call again.
    Later(Box<InputRequiredResult>),
}

/// Asks, by the means that the client has.
pub(super) async fn ask(
    desk: &Desk,
    question: &Question,
    params: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    principal: Option<&Principal>,
) -> Asked {
    if !may_agree(principal) {
        return refused(question, MAY_NOT);
    }
    if !question.is_whole() {
        return Asked::Refused(Reply::failed(question.too_long().detail("kept", false)));
    }
    let asks = context.client_capabilities().and_then(|client| client.elicitation);
    // A client that says nothing about forms knows them; one that only opens pages does not.
    if !asks.is_some_and(|asks| asks.form.is_some() || asks.url.is_none()) {
        return refused(question, "this client can't ask the user");
    }
    if context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        return later(desk, question, params, principal);
    }
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)));
    let options = PeerRequestOptions::with_timeout(ANSWERED_WITHIN);
    let said = async {
        let handle = context.peer.send_cancellable_request(request, options).await.ok()?;
        match handle.await_response().await.ok()? {
            ClientResult::ElicitResult(result) => Some(result.action),
            _ => None,
        }
    };
    let action = tokio::select! {
        action = said => action,
        () = context.ct.cancelled() => None,
        () = desk.closed() => None,
    };
    match said_of(action) {
        Said::Yes => Asked::Do(apply(question.package, question.plan.to_string(), question.answer)),
        Said::No(why) => refused(question, why),
    }
}

fn later(desk: &Desk, question: &Question, params: &CallToolRequestParams, principal: Option<&Principal>) -> Asked {
    let sealed = Sealed {
        number: desk.questions.lock().unwrap_or_else(PoisonError::into_inner).ask(),
        package: question.package,
        plan: question.plan.to_string(),
        answer: question.answer,
        reason: question.reason.clone(),
        line: question.lines.apply.clone(),
    };
    let about = about(params, principal);
    let options = SealOptions::new().associated_data(about.as_bytes()).ttl(ANSWERED_WITHIN);
    let Ok(state) = desk.seal.seal_json_with(&sealed, &options) else {
        return refused(question, "the question could not be put down");
    };
    let asked = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    let requests = InputRequests::from_iter([(QUESTION.to_owned(), asked)]);
    Asked::Later(Box::new(InputRequiredResult::new(Some(requests), Some(state))))
}

/// What a call comes to that is made again with a person's answer.
pub(super) fn answered(
    desk: &Desk,
    state: &str,
    params: &CallToolRequestParams,
    principal: Option<&Principal>,
) -> Asked {
    let sealed: Result<Sealed, _> = desk.seal.open_json_with(state, about(params, principal).as_bytes());
    let unasked = |message: String| {
        let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message);
        let report = report.suggest("make the call again without requestState, and ask the user");
        Asked::Refused(Reply::failed(report.detail("kept", false)))
    };
    let Sealed { number, package, plan, answer, reason, line } = match sealed {
        Ok(sealed) => sealed,
        Err(RequestStateError::Expired) => return unasked("the question is too old".to_owned()),
        Err(error) => return unasked(format!("this is no answer to a question about this call: {error}")),
    };
    let said = params.input_responses.as_ref().and_then(|all| all.get(QUESTION)).and_then(|one| one.get("action"));
    let action: Option<ElicitationAction> = said.and_then(|action: &Value| serde_json::from_value(action.clone()).ok());
    // Whoever answered once, whatever it was, is asked anew: what was agreed to may have been taken back since.
    if action.is_some() && !desk.questions.lock().unwrap_or_else(PoisonError::into_inner).answer(number) {
        return unasked("the question was answered before, or is too old".to_owned());
    }
    match said_of(action) {
        Said::Yes => Asked::Do(apply(package, plan, answer)),
        Said::No(why) => match plan.parse() {
            Ok(plan) => {
                let (change, lines) = (Change::of_paths(&[]), Lines { look: None, apply: line });
                refused(&Question { package, plan, answer, reason, text: String::new(), change, lines }, why)
            }
            Err(_) => Asked::Refused(Reply::failed(ErrorReport::new(ErrorCode::ConfirmationRequired, why))),
        },
    }
}

fn refused(question: &Question, why: &str) -> Asked {
    Asked::Refused(Reply::failed(question.refusal(why).detail("kept", false)))
}

fn apply(package: usize, plan: String, answer: Form) -> Ask {
    Ask { package, what: What::Apply { plan: EntryName::Prefix(plan), confirmed: true, answer } }
}

fn said_of(action: Option<ElicitationAction>) -> Said {
    match action {
        Some(ElicitationAction::Accept) => Said::Yes,
        Some(ElicitationAction::Decline) => Said::No("the user declined"),
        Some(ElicitationAction::Cancel) => Said::No("the user left the question without an answer"),
        None => Said::No("no answer came from the user"),
        Some(_) => Said::No("the client gave no answer that is known here"),
    }
}

/// The form has no fields: to accept it is to confirm.
fn form(question: &Question) -> ElicitRequestParams {
    let requested_schema = ElicitationSchema::new(BTreeMap::new());
    ElicitRequestParams::FormElicitationParams { meta: None, message: question.text.clone(), requested_schema }
}

/// The very call that is asked about, and who makes it.
fn about(params: &CallToolRequestParams, principal: Option<&Principal>) -> String {
    let arguments = Value::Object(params.arguments.clone().unwrap_or_default());
    format!("{}\n{}\n{arguments}", principal.map_or("", |principal| principal.name()), params.name)
}

/// Whether what this caller's client says its user answered counts: whose token is known needs one that may confirm, as everywhere.
fn may_agree(principal: Option<&Principal>) -> bool {
    principal.is_none_or(|principal| principal.may(Scope::Confirm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_once_and_not_at_all_once_it_is_forgotten() {
        let mut questions = Questions::default();
        let (first, second) = (questions.ask(), questions.ask());
        assert!(questions.answer(second) && !questions.answer(second));
        for _ in 1..ANSWERED_MAX {
            let number = questions.ask();
            assert!(questions.answer(number) && !questions.answer(number));
        }
        let last = questions.ask();
        assert!(questions.answer(last));
        assert_eq!(questions.answered.len(), ANSWERED_MAX);
        // The second is not known to have been answered any more, and the first never was.
        assert!(!questions.answer(second) && !questions.answer(first));
    }
}
