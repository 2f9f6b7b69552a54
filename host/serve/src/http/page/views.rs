//! What each page says, made of the same documents that programs get.

use super::shape::{ROWS_MAX, Sent, answer, change as change_of, document, failure, form, given, page, text, wide};
use super::{Fields, Page, Shown, failed, fields};
use crate::ask::{Back, Tell, Words};
use crate::catalog::STDIN;
use crate::http::access::Refused;
use crate::http::request;
use crate::http::site::Site;
use crate::reply::{Facts, Reply};
use crate::told::{CHANGES, WHOLE};
use crate::who::{Principal, Scope};
use http::request::Parts;
use http::{Method, StatusCode};
use hutch::EntryName;
use hutch_documents::agent::reads_stdin;
use hutch_model::contract::{Command, Effect};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hyper::body::Incoming;
use maud::{Markup, html};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::{Instant as Moment, timeout_at};

/// Commands whose answers a package's first page shows, how many rows of each, and how long all of them may take together.
const AT_ONCE: usize = 3;
const AT_ONCE_ROWS: usize = 20;
const AT_ONCE_WITHIN: Duration = Duration::from_secs(3);
/// The most bytes of changes on the page of what waits; one change has fewer.
const CHANGES_BYTES_MAX: usize = 2 << 20;

/// A page about a package.
pub(super) struct View<'v> {
    site: &'v Site,
    package: usize,
    pub(super) slug: &'v str,
    pub(super) principal: &'v Principal,
    parts: &'v Parts,
}

/// Shows what is asked for.
pub(super) async fn show(
    site: &Site,
    page: Page,
    found: &[&str],
    principal: &Principal,
    parts: &Parts,
    body: Option<Incoming>,
) -> Result<Shown, Refused> {
    let (slug, second) = (found.first().copied().unwrap_or_default(), found.get(1).copied().unwrap_or_default());
    match page {
        Page::Packages => return Ok(Shown::Page(packages(site, parts))),
        Page::Approvals => return approvals(site, principal, parts).await,
        _ => {}
    }
    let missing = || failed(ErrorReport::new(ErrorCode::NotFound, format!("no package {slug:?} is served")));
    let package = site.catalog.place(slug).ok_or_else(missing)?;
    let view = View { site, package, slug, principal, parts };
    match page {
        Page::Package => Ok(Shown::Page(view.package().await)),
        Page::Command => view.command(second).map(Shown::Page),
        Page::Plan => {
            let (Fields { pairs, file }, _place) = fields(site, &parts.headers, body, principal).await?;
            view.plan(second, &pairs, file).await
        }
        Page::Apply => view.apply(second).await,
        Page::Decline => view.decline(second).await,
        Page::History => view.history(parts.uri.query()).await,
        Page::Entries => view.entries(parts.uri.query()).await,
        Page::Files => view.files(parts.uri.query()).await,
        Page::File => view.file(parts.uri.query()).await,
        Page::Raw => view.raw(parts.uri.query()).await,
        Page::Undo => view.undo(second).await,
        Page::Verify => view.entry(second, true).await,
        _ => view.entry(second, false).await,
    }
}

fn packages(site: &Site, parts: &Parts) -> Markup {
    let is_signed_in = site.guard.link.as_ref().is_some_and(|link| link.session(&parts.headers).is_some());
    page(
        "Packages",
        &html! {
            ul {
                @for (slug, about) in site.slugs().iter().zip(&site.about) {
                    li {
                        h2 { a href={ "/packages/" (slug) } { (about.listed["name"].as_str().unwrap_or(slug)) } }
                        p { (text(about.listed["description"].as_str().unwrap_or_default())) }
                        p.faint { (slug) " " (about.listed["version"].as_str().unwrap_or_default()) ", " (about.listed["trust"].as_str().unwrap_or_default()) }
                    }
                }
            }
            @if is_signed_in { form method="post" action="/leave" { button type="submit" { "Sign out" } } }
        },
    )
}

/// What waits for a person.
async fn approvals(site: &Site, principal: &Principal, parts: &Parts) -> Result<Shown, Refused> {
    let by = site.by(principal, None);
    let asked = site.carry_out(0, Tell::Questions, by, parts, |reply, _| done(reply)).await;
    let (document, _) = asked.unwrap_or_else(|report| Err(failed(report)))?;
    let items = document["items"].as_array().cloned().unwrap_or_default();
    let mut bytes = 0;
    let fits = |item: &&Value| {
        bytes += item["change"].as_str().map_or(0, str::len);
        bytes <= CHANGES_BYTES_MAX
    };
    let shown: Vec<&Value> = items.iter().take_while(fits).collect();
    Ok(Shown::Page(page(
        "Approvals",
        &html! {
            @if items.is_empty() { p { "Nothing waits for consent." } }
            @if shown.len() < items.len() { p { (items.len() - shown.len()) " more wait, and are shown when these are answered." } }
            @for item in shown {
                @let (slug, plan) = (item["package"].as_str().unwrap_or_default(), item["plan"].as_str().unwrap_or_default());
                section aria-label={ "Plan " (short(plan)) } {
                    h2 { (slug) ": plan " code { (short(plan)) } }
                    pre tabindex="0" { (text(item["question"].as_str().unwrap_or_default())) }
                    @if let Some(change) = item["change"].as_str() {
                        details { summary { "All that would change" } (change_of(change)) }
                    }
                    p { a href={ "/packages/" (slug) "/entries/" (plan) } { "The plan's entry" } }
                    @if item["whole"] == true { (answers(slug, plan, principal, true)) } @else {
                        (unanswered(slug, plan, principal, item["apply"].as_str()))
                    }
                }
            }
        },
    )))
}

/// What stands in the place of the buttons where not all of the call and of its change is shown: nobody agrees here to what was cut.
fn unanswered(slug: &str, plan: &str, principal: &Principal, apply: Option<&str>) -> Markup {
    html! {
        p.notice {
            "Not all of the call and of its change is known here or can be shown, so nobody can agree to it here. "
            @if let Some(line) = apply { "Whoever runs the server carries it out by: " code { (text(line)) } }
        }
        @if principal.may(Scope::Confirm) {
            form method="post" action={ "/packages/" (slug) "/plans/" (plan) "/decline" } {
                button type="submit" { "Decline" }
            }
        }
    }
}

/// The buttons below a plan.
fn answers(slug: &str, plan: &str, principal: &Principal, asks: bool) -> Markup {
    html! {
        @if asks && !principal.may(Scope::Confirm) {
            p.notice { "This token may not agree to it: it waits for somebody whose token has the scope confirm." }
        } @else {
            form method="post" action={ "/packages/" (slug) "/plans/" (plan) "/apply" } {
                button type="submit" { @if asks { "Agree and carry it out" } @else { "Carry it out" } }
            }
            @if asks {
                form method="post" action={ "/packages/" (slug) "/plans/" (plan) "/decline" } {
                    button type="submit" { "Decline" }
                }
            }
        }
    }
}

impl View<'_> {
    pub(super) async fn ask(&self, tell: Tell) -> Result<(Value, Facts), Refused> {
        self.ask_made(tell, |document, facts| (document, facts)).await
    }

    /// What is made of the document where it is carried out, as whatever can be large is.
    pub(super) async fn ask_made<T: Send + 'static>(
        &self,
        tell: Tell,
        make: impl FnOnce(Value, Facts) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let by = self.site.by(self.principal, None);
        let made = move |reply| done(reply).map(|(document, facts)| make(document, facts));
        let asked = self.site.carry_out(self.package, tell, by, self.parts, |reply, _| made(reply)).await;
        asked.unwrap_or_else(|report| Err(failed(report)))
    }

    /// The result without what the guest said, and that as people read it.
    pub(super) async fn ask_drawn(&self, tell: Tell) -> Result<(Value, Facts, Markup), Refused> {
        let drawn = |mut document: Value, facts: Facts| {
            let mut result = document["result"].take();
            let drawn = answered(&result, ROWS_MAX);
            if let Some(fields) = result.as_object_mut() {
                fields.retain(|name, _| !["output", "stdout", "stderr", "diff"].contains(&name.as_str()));
            }
            (result, facts, drawn)
        };
        self.ask_made(tell, drawn).await
    }

    pub(super) fn links(&self) -> Markup {
        html! { p {
            a href={ "/packages/" (self.slug) } { "Commands of " (self.slug) } " - "
            a href={ "/packages/" (self.slug) "/history" } { "History" } " - "
            a href={ "/packages/" (self.slug) "/files" } { "Files" }
        } }
    }

    async fn package(&self) -> Markup {
        let about = self.site.about.get(self.package).map(|about| &about.meta);
        let summary = about.and_then(|about| about["summary"].as_str()).unwrap_or_default();
        let stands = self.stands().await;
        page(
            self.slug,
            &html! {
                p { (text(summary)) }
                (self.links())
                (stands)
                h2 { "Commands" }
                (wide(&html! { table {
                    thead { tr { th scope="col" { "Command" } th scope="col" { "Effect" } th scope="col" { "What it does" } } }
                    tbody {
                        @for (at, command) in self.site.catalog.commands(self.package).iter().enumerate() {
                            tr {
                                td {
                                    a href={ "/packages/" (self.slug) "/commands/" (at) } { (command.name) }
                                    @if is_shown_at_once(command) && self.principal.may(Scope::Run) {
                                        form method="post" action=(self.action(&at.to_string())) { button type="submit" { "Show" } }
                                    }
                                }
                                td { (effect(command)) }
                                td { (text(&command.description)) }
                            }
                        }
                    }
                } }))
            },
        )
    }

    /// How it stands: what the first commands answer that only read and need be told nothing. No entry tells of it. Whoever has a browser fetch this page
    /// from another site has none of them carried out.
    async fn stands(&self) -> Markup {
        let site = self.parts.headers.get("sec-fetch-site").map(|site| site.as_bytes());
        let is_own = site.is_none_or(|site| site == b"same-origin" || site == b"none");
        if !is_own || self.parts.method != Method::GET || !self.principal.may(Scope::Run) {
            return html! {};
        }
        let (until, mut answers) = (Moment::now() + AT_ONCE_WITHIN, Vec::new());
        let commands = self.site.catalog.commands(self.package).iter().enumerate();
        let shown: Vec<(usize, &Command)> = commands.filter(|(_, one)| is_shown_at_once(one)).take(AT_ONCE).collect();
        for (at, command) in shown {
            let look = async {
                let words = self.site.catalog.words(self.package, &command.name, &Map::new()).map_err(failed)?;
                self.read(Tell::Look(Words { arguments: words, ..Words::default() }), AT_ONCE_ROWS).await
            };
            // Where the time is over, nothing more is begun; what is under way is stopped.
            let answer = if Moment::now() < until { timeout_at(until, look).await.ok() } else { None };
            answers.push((at, command, answer));
        }
        html! {
            @for (at, command, answer) in &answers {
                h2 { a href={ "/packages/" (self.slug) "/commands/" (at) } { (command.name) } }
                @match answer {
                    Some(Ok(looked)) => (looked),
                    Some(Err(Refused(_, report))) => p { "Not shown: " (text(&report.message)) " [" (report.code.text()) "]" },
                    None => { p { "Not shown: it would take longer than " (AT_ONCE_WITHIN.as_secs()) " seconds." } }
                }
            }
        }
    }

    /// What a command answers that only reads, with so many rows of a list.
    async fn read(&self, tell: Tell, rows: usize) -> Result<Markup, Refused> {
        self.ask_made(tell, move |document, _| answered(&document["result"], rows)).await
    }

    fn known(&self, at: &str) -> Result<&Command, Refused> {
        let command = at.parse().ok().and_then(|at: usize| self.site.catalog.commands(self.package).get(at));
        command.ok_or_else(|| {
            failed(ErrorReport::new(ErrorCode::NotFound, format!("{} has no command {at:?}", self.slug)))
        })
    }

    fn command(&self, at: &str) -> Result<Markup, Refused> {
        let command = self.known(at)?;
        let action = self.action(at);
        Ok(page(
            &format!("{} {}", self.slug, command.name),
            &html! { p { (text(&command.description)) } p.faint { "Effect: " (effect(command)) } (form(command, &action, &Sent::default())) (self.links()) },
        ))
    }

    fn action(&self, at: &str) -> String {
        format!("/packages/{}/commands/{at}", self.slug)
    }

    /// The form once more, with what was sent and what is wrong with it.
    fn again(&self, command: &Command, at: &str, pairs: &[(String, String)], refused: &Refused) -> Shown {
        let Refused(status, report) = refused;
        let violations = report.details.get("violations").and_then(Value::as_array).into_iter().flatten();
        let wrong = violations.filter_map(|one| {
            Some((
                one["parameter"].as_str()?.trim_start_matches('-').to_lowercase(),
                one["message"].as_str()?.to_owned(),
            ))
        });
        let sent = Sent { pairs, wrong: wrong.collect() };
        // Which field is meant stands at the field; words of a command line are of no use here.
        let said = (**report).clone().suggest("");
        Shown::Refused(
            *status,
            page(
                &format!("{} {}", self.slug, command.name),
                &html! { (failure(&said)) (form(command, &self.action(at), &sent)) (self.links()) },
            ),
        )
    }

    /// What the call would do, and the button that does it.
    async fn plan(&self, at: &str, pairs: &[(String, String)], file: Option<Vec<u8>>) -> Result<Shown, Refused> {
        let command = self.known(at)?;
        let given = given(command, pairs);
        let typed = pairs.iter().find(|(name, _)| name == STDIN && !given.contains_key(STDIN));
        let typed = typed.map(|(_, text)| text.clone().into_bytes());
        let stdin = file.or(typed).unwrap_or_default();
        let words = match self.site.catalog.words(self.package, &command.name, &given) {
            Ok(words) => words,
            Err(report) => return Ok(self.again(command, at, pairs, &failed(report))),
        };
        if command.effect == Effect::Read && !command.confirmation_required {
            let call = Words { arguments: words, stdin, ..Words::default() };
            return Ok(match self.read(Tell::Run(call), ROWS_MAX).await {
                Ok(looked) => Shown::Page(page(
                    &format!("{} {}", self.slug, command.name),
                    &html! {
                        (looked)
                        details { summary { "Other fields" } (form(command, &self.action(at), &Sent { pairs, ..Sent::default() })) }
                        (self.links())
                    },
                )),
                Err(refused) => self.again(command, at, pairs, &refused),
            });
        }
        let call = Words { arguments: words.clone(), stdin, ..Words::default() };
        let (result, facts, drawn) = match self.ask_drawn(Tell::Plan(call)).await {
            Ok(planned) => planned,
            Err(refused) => return Ok(self.again(command, at, pairs, &refused)),
        };
        let (plan, asks) = (result["plan_id"].as_str().unwrap_or_default(), result["confirmation"].as_str());
        let changes = facts.get(CHANGES).and_then(Value::as_str).unwrap_or_default();
        let risk = &result["risk"];
        Ok(Shown::Page(page(
            &format!("Plan: {} {}", self.slug, command.name),
            &html! {
                p { "Nothing is done yet. This is what " code { (text(&words.join(" "))) } " would do." }
                @if let Some(reason) = asks { p.notice { strong { "A person must agree: " } (text(reason)) } }
                h2 { "What would change" }
                @for reason in risk["reasons"].as_array().into_iter().flatten() { p { (text(reason.as_str().unwrap_or_default())) } }
                (change_of(changes))
                h2 { "What it would answer" }
                (drawn)
                @if !plan.is_empty() {
                    @if asks.is_none() || facts.get(WHOLE) == Some(&Value::Bool(true)) { (answers(self.slug, plan, self.principal, asks.is_some())) } @else {
                        (unanswered(self.slug, plan, self.principal, None))
                    }
                }
                (self.links())
            },
        )))
    }

    async fn apply(&self, plan: &str) -> Result<Shown, Refused> {
        let plan = request::named_entry(plan)?;
        let confirmed = self.principal.may(Scope::Confirm);
        let (_, facts) = self.ask(Tell::Apply { plan, confirmed }).await?;
        Ok(self.at(&facts))
    }

    async fn decline(&self, plan: &str) -> Result<Shown, Refused> {
        let EntryName::Prefix(plan) = request::named_entry(plan)? else {
            return Err(Refused::invalid(StatusCode::BAD_REQUEST, "expected the hash of a plan"));
        };
        self.ask(Tell::Decline(plan)).await?;
        Ok(Shown::Elsewhere("/approvals".to_owned()))
    }

    async fn undo(&self, entry: &str) -> Result<Shown, Refused> {
        let (_, facts) = self.ask(Tell::Undo(Back::Entry(request::entry_name(entry)?))).await?;
        Ok(self.at(&facts))
    }

    /// The page of the entry that tells of what was done.
    fn at(&self, facts: &Facts) -> Shown {
        let entry = facts.get("hutch/entry").and_then(|entry| entry["sequence"].as_u64());
        Shown::Elsewhere(match entry {
            Some(entry) => format!("/packages/{}/entries/{entry}", self.slug),
            None => format!("/packages/{}/history", self.slug),
        })
    }
}

/// Whether a command answers without being told or asking anything, and says that it changes nothing.
fn is_shown_at_once(command: &Command) -> bool {
    let is_told = command.parameters.iter().any(|one| one.required) || reads_stdin(command);
    command.effect == Effect::Read && !command.confirmation_required && !is_told
}

/// What a guest said: its document, or its text.
fn answered(result: &Value, rows: usize) -> Markup {
    match &result["output"] {
        Value::Null => document(&result["stdout"]),
        output => answer(output, rows),
    }
}

fn effect(command: &Command) -> String {
    serde_json::to_value(command.effect).ok().and_then(|effect| effect.as_str().map(str::to_owned)).unwrap_or_default()
}

fn short(plan: &str) -> String {
    plan.chars().take(12).collect()
}

/// The document, or why there is none.
fn done(reply: Reply) -> Result<(Value, Facts), Refused> {
    match reply {
        Reply::Done { document, facts } => Ok((document, facts)),
        Reply::Failed { mut report, .. } => {
            // A page shows the texts alone.
            if let Some(run) = report.details.get_mut("run").and_then(Value::as_object_mut) {
                run.remove("output");
            }
            Err(failed(*report))
        }
        Reply::Ask(question) => Err(failed(question.refusal("it waits for a person"))),
    }
}
