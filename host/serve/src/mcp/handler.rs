//! The protocol's requests, answered from the catalog and by the host behind the door.

use super::confirm::{self, Asked, Questions};
use super::skills::Skills;
use crate::ask::{Ask, What};
use crate::catalog::{Catalog, Wanted};
use crate::door::{By, Door, Unsent};
use crate::question;
use crate::reply::{Facts, Reply};
use crate::serving::ServeError;
use crate::telemetry::{self, Telemetry, Work, some};
use crate::who::{Principal, Scope};
use hutch_model::document;
use hutch_model::error_code::ErrorCode as Code;
use hutch_model::error_report::ErrorReport;
use hutch_model::invocation::Seed;
use hutch_model::ledger::Caller;
use opentelemetry::context::FutureExt;
use opentelemetry::trace::SpanKind;
use opentelemetry::{Context, KeyValue};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetSkillRequestParams, GetSkillResult, Implementation, InitializeRequestParams, ListResourcesResult,
    ListSkillsResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, RequestStateCodec, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Time between notes on the progress of a call.
const NOTED_EVERY: Duration = Duration::from_secs(1);

/// What all requests share.
pub(super) struct Desk {
    door: Arc<Door>,
    catalog: Arc<Catalog>,
    tools: Vec<Tool>,
    skills: Skills,
    telemetry: Arc<Telemetry>,
    /// Where people find what waits for them, if there is such a page.
    pub(super) approvals: Option<String>,
    /// Seals what a client keeps between two calls.
    pub(super) seal: RequestStateCodec,
    /// What was so sealed, and what came back.
    pub(super) questions: Mutex<Questions>,
    closed: watch::Sender<bool>,
}

impl Desk {
    pub(super) fn new(
        door: Arc<Door>,
        catalog: Arc<Catalog>,
        skills: Skills,
        key: Seed,
        telemetry: Arc<Telemetry>,
    ) -> Result<Desk, ServeError> {
        let tools = catalog.tools().iter().map(|tool| serde_json::from_value(tool.clone()));
        let tools: Vec<Tool> = tools
            .collect::<Result<_, _>>()
            .map_err(|error| ServeError::System(format!("a tool can't be described: {error}")))?;
        let seal = RequestStateCodec::try_new(key.0).map_err(|error| ServeError::System(error.to_string()))?;
        let (questions, closed) = (Mutex::default(), watch::Sender::new(false));
        Ok(Desk { door, catalog, tools, skills, telemetry, approvals: None, seal, questions, closed })
    }

    /// Begins nothing more, and stops what is under way.
    pub(super) fn close(&self) {
        self.door.close();
        self.closed.send_replace(true);
    }

    /// So many bytes wait for the only client that there is.
    pub(super) fn hold(&self, bytes: usize) -> Unsent {
        self.door.hold(&Arc::default(), bytes)
    }

    /// Ends when this is closed.
    pub(super) async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        // The sender is this one's own.
        let _ = closed.wait_for(|closed| *closed).await;
    }

    /// Has something done, and tells the client that it goes on, if it wants to know. A call that the client cancels is stopped.
    async fn carry_out(&self, ask: Ask, context: &RequestContext<RoleServer>) -> Reply {
        let client = context.client_info();
        let by = match principal(context) {
            // What a client calls itself is told besides.
            Some(principal) => {
                let client = client.map(|client| format!(" {} {}", client.name, client.version)).unwrap_or_default();
                By::of(&principal, &format!("mcp{client}"), None)
            }
            None => By::alone(client.map(|client| Caller::new(&client.name, &client.version))),
        };
        let mut taken = match self.door.take(ask, by) {
            Ok(taken) => taken,
            Err(report) => return Reply::failed(report),
        };
        let token = context.meta.get_progress_token();
        let mut notes = tokio::time::interval(NOTED_EVERY);
        let mut noted = 0.0;
        loop {
            tokio::select! {
                reply = &mut taken.reply => return reply.unwrap_or_else(|_| Reply::lost()),
                () = context.ct.cancelled(), if !taken.is_cancelled() => taken.cancel(),
                _ = notes.tick(), if token.is_some() => {
                    let Some(token) = token.clone() else { continue };
                    let mut note = ProgressNotificationParam::new(token, noted);
                    note.message = Some(format!("under way for {noted} s"));
                    noted += NOTED_EVERY.as_secs_f64();
                    // Who can't be told will not get the answer either.
                    let _ = context.peer.notify_progress(note).await;
                }
            }
        }
    }

    /// A tool's call has come: below what the client says that caused it, else below the request by which it came.
    fn begin(&self, params: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Work<'_> {
        let parts = context.extensions.get::<http::request::Parts>();
        let request = parts.and_then(|parts| parts.extensions.get::<Context>());
        let cause = telemetry::cause_in(&context.meta);
        let parent = cause.as_ref().or(request).cloned().unwrap_or_default();
        let name = match self.is_known(params) {
            true => format!("tools/call {}", params.name),
            false => "tools/call".to_owned(),
        };
        let work = self.telemetry.work(SpanKind::Server, name, &parent);
        if let (Some(_), Some(request)) = (cause, request) {
            work.link(request);
        }
        work.set([
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("network.transport", if parts.is_some() { "tcp" } else { "pipe" }),
        ]);
        work
    }

    fn end(&self, work: Work<'_>, params: &CallToolRequestParams, response: Option<&CallToolResponse>) {
        let failed = match response {
            Some(CallToolResponse::Complete(result)) => result.is_error == Some(true),
            Some(_) => false,
            None => true,
        };
        let attributes = some([
            Some(KeyValue::new("mcp.method.name", "tools/call")),
            self.is_known(params).then(|| KeyValue::new("gen_ai.tool.name", params.name.to_string())),
            failed.then(|| KeyValue::new("error.type", "tool_error")),
        ]);
        if let Some(meters) = self.telemetry.meters() {
            meters.tool.record(work.seconds(), &attributes);
        }
        work.set(attributes);
        let mut fields = Map::new();
        if self.is_known(params) {
            fields.insert("tool".to_owned(), params.name.as_ref().into());
        }
        let code = match response {
            Some(CallToolResponse::Complete(result)) => {
                result.meta.as_ref().and_then(|meta| meta.0.get("hutch/error")?.get("code").cloned())
            }
            _ => None,
        };
        fields.extend(code.map(|code| ("code".to_owned(), code)));
        work.close(failed, "tool", fields);
    }

    /// Whether there is such a tool; of others, nothing is said but that there is none.
    fn is_known(&self, params: &CallToolRequestParams) -> bool {
        self.tools.iter().any(|tool| tool.name == params.name)
    }

    async fn call(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResponse> {
        let given = params.arguments.clone().unwrap_or_default();
        let ask = match self.catalog.wanted(&params.name, &given)? {
            Err(report) => return Some(result(Reply::failed(report)).into()),
            Ok(Wanted::Known(document)) => return Some(result(Reply::done(document)).into()),
            Ok(Wanted::Ask(ask)) => ask,
        };
        let principal = principal(context);
        if let Some(Err(refusal)) = principal.as_ref().map(|principal| principal.check(scope(&ask))) {
            return Some(result(Reply::failed(refusal)).into());
        }
        let asked = match &params.request_state {
            Some(state) => confirm::answered(self, state, params, principal.as_ref()),
            None => match self.carry_out(ask, context).await {
                Reply::Ask(question) => confirm::ask(self, &question, params, context, principal.as_ref()).await,
                reply => Asked::Refused(reply),
            },
        };
        Some(match asked {
            Asked::Do(ask) => result(self.carry_out(ask, context).await).into(),
            Asked::Refused(mut reply) => {
                if let (Reply::Failed { report, .. }, Some(page)) = (&mut reply, &self.approvals) {
                    question::found_at(report, page);
                }
                result(reply).into()
            }
            Asked::Later(required) => (*required).into(),
        })
    }
}

/// What is wrong with a request whose method is known, where the library did not take it for one: its parameters, or that whoever speaks this
/// revision has no such method. One that says no revision is of the lifecycle that begins with `initialize`.
pub(super) fn unfit(request: &CustomRequest, revision: Option<&ProtocolVersion>) -> Option<ErrorData> {
    fn read<T: serde::de::DeserializeOwned>(params: Value) -> Option<String> {
        serde_json::from_value::<T>(params).err().map(|error| error.to_string())
    }
    let begins = revision.is_none_or(|revision| revision.as_str() < ProtocolVersion::V_2026_07_28.as_str());
    let params = request.params.clone().unwrap_or_default();
    let reason = match request.method.as_str() {
        "initialize" | "ping" if !begins => return Some(unknown(request)),
        "initialize" => read::<InitializeRequestParams>(params),
        "tools/call" => read::<CallToolRequestParams>(params),
        "resources/read" => read::<ReadResourceRequestParams>(params),
        "skills/get" => read::<GetSkillRequestParams>(params),
        "ping" | "tools/list" | "resources/list" | "skills/list" => Some("expected an object".to_owned()),
        _ => return None,
    };
    let reason = reason.unwrap_or_else(|| "expected an object".to_owned());
    Some(ErrorData::invalid_params(format!("the params of {} are not of its form: {reason}", request.method), None))
}

fn unknown(request: &CustomRequest) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method.clone(), None)
}

/// Who makes a request, where it came by a way on which callers are let in.
fn principal(context: &RequestContext<RoleServer>) -> Option<Principal> {
    context.extensions.get::<http::request::Parts>()?.extensions.get::<Principal>().cloned()
}

/// What a token must be good for.
fn scope(ask: &Ask) -> Scope {
    match ask.what {
        What::Verify(_) | What::History { .. } | What::Find { .. } => Scope::Read,
        _ => Scope::Run,
    }
}

/// A reply as the protocol has it. A failure is data for the model; it is no structured content, because that is of the tool's schema.
fn result(reply: Reply) -> CallToolResult {
    let with_facts = |mut result: CallToolResult, facts: Facts| {
        if !facts.is_empty() {
            result.meta = Some(MetaObject(facts));
        }
        result
    };
    match reply {
        Reply::Done { document, facts } => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(seen(&document))]);
            result.structured_content = Some(document);
            with_facts(result, facts)
        }
        Reply::Failed { mut report, mut facts } => {
            report.suggestion = advice(&report);
            let told = serde_json::to_value(&*report).unwrap_or_default();
            // A question is told once: who reads it reads the text, and a program asks by the plan.
            report.details.remove("question");
            facts.insert("hutch/error".to_owned(), serde_json::to_value(&*report).unwrap_or_default());
            with_facts(CallToolResult::error(vec![ContentBlock::text(seen(&told))]), facts)
        }
        // Who confirmed once is not asked again.
        Reply::Ask(question) => result(Reply::failed(question.refusal("it was asked for twice"))),
    }
}

/// What to do, for one who has tools and no command line: what a person is to do with one stays as it is.
fn advice(report: &ErrorReport) -> String {
    let is_typed = report.suggestion.split(' ').any(|word| word == "hutch" || word.starts_with("--"));
    let said = match report.code {
        _ if !is_typed => return report.suggestion.clone(),
        Code::ConfirmationRequired => return report.suggestion.clone(),
        Code::ArgumentInvalid | Code::ArgumentRefused => {
            "correct the fields as the tool's schema or hutch_describe says"
        }
        Code::PermissionDenied => "tell the user: whoever starts the server grants what is missing",
        _ if report.code.text().ends_with("_LIMIT") => "ask for less; whoever starts the server sets the limits",
        Code::NotFound => "look with hutch_history what there is",
        _ => "tell the user: whoever starts the server can mend it",
    };
    said.to_owned()
}

/// A document as a text in which everything is seen: a model gets it as it is.
fn seen(document: &Value) -> String {
    document::written(&document.to_string()).into_owned()
}

/// One client's requests.
pub(super) struct Handler(pub(super) Arc<Desk>);

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_skills().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("hutch", env!("CARGO_PKG_VERSION")))
            .with_instructions(include_str!("instructions.txt").trim())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools.clone()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = || ErrorData::invalid_params(format!("there is no tool {:?}", params.name), None);
        let desk = &self.0;
        let work = desk.begin(&params, &context);
        let response = desk.call(&params, &context).with_context(work.context()).await;
        desk.end(work, &params, response.as_ref());
        response.ok_or_else(unknown)
    }

    /// A request whose method is known and whose parameters are not of its form comes here too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unfit(&request, context.protocol_version().as_ref()).unwrap_or_else(|| unknown(&request)))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.0.skills.resources()))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing = || ErrorData::resource_not_found(format!("there is no resource {:?}", params.uri), None);
        let contents = self.0.skills.read(&params.uri).ok_or_else(missing)?;
        Ok(ReadResourceResponse::Complete(ReadResourceResult::new(vec![contents])))
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        Ok(ListSkillsResult::with_all_items(self.0.skills.skills.clone()))
    }

    async fn get_skill(
        &self,
        params: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let found = self.0.skills.skills.iter().find(|skill| skill.uri == params.uri);
        let missing = || ErrorData::invalid_params(format!("there is no skill {:?}", params.uri), None);
        Ok(GetSkillResult::new(found.ok_or_else(missing)?.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ClientRequest;
    use serde_json::json;

    /// The code by which a request without parameters of its own is refused, where the library takes it for none that it knows.
    fn refused(revision: Option<&str>, method: &str) -> Option<i32> {
        let params = match revision {
            Some(revision) => json!({"_meta": {"io.modelcontextprotocol/protocolVersion": revision}}),
            None => json!({}),
        };
        let request = json!({"method": method, "params": params});
        let ClientRequest::CustomRequest(request) = serde_json::from_value(request).unwrap() else { return None };
        let revision = revision.map(|revision| serde_json::from_value(json!(revision)).unwrap());
        Some(unfit(&request, revision.as_ref()).unwrap_or_else(|| unknown(&request)).code.0)
    }

    #[test]
    fn a_method_is_judged_by_the_revision_that_its_caller_speaks() {
        let (none, wrong) = (Some(ErrorCode::METHOD_NOT_FOUND.0), Some(ErrorCode::INVALID_PARAMS.0));
        for (method, begun, stateless) in [
            ("initialize", wrong, none),
            // The library knows these, whatever stands beside, and judges them itself.
            ("ping", None, None),
            ("tools/list", None, None),
            ("resources/list", None, None),
            ("skills/list", None, None),
            ("tools/call", wrong, wrong),
            ("resources/read", wrong, wrong),
            ("skills/get", wrong, wrong),
            ("nothing/of-this", none, none),
        ] {
            for revision in [None, Some("2024-11-05"), Some("2025-11-25")] {
                assert_eq!(refused(revision, method), begun, "{method} of {revision:?}");
            }
            assert_eq!(refused(Some("2026-07-28"), method), stateless, "{method}");
        }
        // Parameters that are no object: what the library does not take.
        let ping = |revision: &str| {
            let request = CustomRequest::new("ping", Some(json!(7)));
            unfit(&request, Some(&serde_json::from_value(json!(revision)).unwrap())).map(|error| error.code.0)
        };
        assert_eq!((ping("2025-11-25"), ping("2026-07-28")), (wrong, none));
    }
}
