//! What is asked for over HTTP, carried out and answered with the documents of the command line. A request that has a name is carried out
//! once: the ledger says whether it was.

use crate::ask::{Form, Mark, Tell, Words};
use crate::names::Known;
use crate::question::Change;
use crate::reply::{Facts, Reply, facts};
use crate::work::{Work, meant};
use hutch::{Answer, Answered, Call, EntryName, Failure, Moved, Session};
use hutch_documents::diff::file_diffs;
use hutch_documents::moved::moved_value;
use hutch_documents::verified::verified_value;
use hutch_documents::{Page, envelope, ledger, run, state};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Request;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// That the answer is that of an earlier request of the same name.
pub(crate) const REPEATED: &str = "hutch/repeated";
/// What a plan would change, for people.
pub(crate) const CHANGES: &str = "hutch/changes";
/// Whether a page can show all of that, and of what a person is asked about it.
pub(crate) const WHOLE: &str = "hutch/whole";
/// What names the state.
pub(crate) const STATE: &str = "hutch/state";

/// A part of a list.
fn page(limit: u32, offset: u32) -> Page {
    Page { limit, offset }
}

/// A request with a name, until it has ended in whatever way.
struct UnderWay<'u, 'w, 's> {
    work: &'u Work<'w, 's>,
    package: usize,
    request: Request,
}

impl Drop for UnderWay<'_, '_, '_> {
    fn drop(&mut self) {
        if let Some(mut names) = self.work.names(self.package) {
            names.end(&self.request);
        }
    }
}

impl Work<'_, '_> {
    /// Carries out what is asked for; once, if the request has a name.
    pub(crate) fn told(&self, (package, request): (usize, Option<Request>), tell: &Tell) -> Result<Reply, Failure> {
        let changes = matches!(tell, Tell::Run(_) | Tell::Apply { .. } | Tell::Undo(_));
        let Some(request) = request.filter(|_| changes) else { return self.tell(package, tell) };
        let session = self.instance.session(self.at)?;
        let known = match self.names(package) {
            Some(mut names) => names.begin(&request, &session)?,
            None => Known::New(0),
        };
        let conflict = |message: &str| {
            Ok(Reply::failed(ErrorReport::new(ErrorCode::RequestConflict, message).detail("kept", false)))
        };
        match known {
            Known::UnderWay => conflict("a request with this Idempotency-Key is under way"),
            Known::Another => conflict("this Idempotency-Key was given to another request"),
            Known::Done(place) => self.told_again(&session, place, tell),
            Known::New(looked) => {
                let instance = self.instance.looked_up_to(looked);
                let work = Work { instance, ..*self };
                let _under_way = UnderWay { work: self, package, request };
                match work.tell(package, tell) {
                    // By another server on the same home.
                    Err(Failure::CarriedOut { sequence }) => {
                        let sealed = session.entry(&EntryName::Sequence(sequence))?;
                        let record = sealed.open().map_err(Failure::Entry)?.record;
                        match record.request.is_some_and(|done| done.body == request.body) {
                            true => self.told_again(&session, sequence, tell),
                            false => conflict("this Idempotency-Key was given to another request"),
                        }
                    }
                    done => done,
                }
            }
        }
    }

    /// The answer to a request that an entry carried out.
    fn told_again(&self, session: &Session, place: u64, tell: &Tell) -> Result<Reply, Failure> {
        let command = if matches!(tell, Tell::Apply { .. }) { "apply" } else { "run" };
        let reply = match session.answered(&session.entry(&EntryName::Sequence(place))?)? {
            Answered::Moved(moved) => self.moved(session, &moved),
            Answered::Run(answer) => self.ran(command, &answer),
        };
        Ok(match reply {
            Reply::Done { document, mut facts } => {
                facts.insert(REPEATED.to_owned(), true.into());
                Reply::Done { document, facts }
            }
            reply => reply,
        })
    }

    fn tell(&self, package: usize, tell: &Tell) -> Result<Reply, Failure> {
        let result = match tell {
            Tell::Run(words) => return self.tell_run(package, words),
            Tell::Look(words) => return self.tell_look(words),
            Tell::Plan(words) => return self.tell_plan(package, words),
            Tell::Apply { plan, confirmed } => return self.tell_apply(package, plan, *confirmed),
            Tell::Undo(back) => {
                let session = self.instance.session(self.at)?;
                let moved = self.go(&session, back)?;
                return Ok(self.moved(&session, &moved));
            }
            Tell::Verify(name) => return self.tell_verify(name.as_ref()),
            Tell::State => return self.tell_state(),
            Tell::Standing => return Ok(Reply::done(json!({"items": self.instance.session(self.at)?.standing()?}))),
            // These are answered without an instance.
            Tell::Questions => return Ok(Reply::done(json!({"items": self.worker.waiting()}))),
            Tell::Decline(plan) => return Ok(self.worker.decline(package, plan)),
            Tell::Since { after, limit } => return self.tell_since(after.as_ref(), *limit),
            Tell::Ledger { limit, offset } => {
                ("ledger list", ledger::list_value(&self.instance.session(self.at)?, &page(*limit, *offset))?)
            }
            Tell::Changes { limit, offset } => {
                let session = self.instance.session(self.at)?;
                ("ledger list", ledger::last_changes_value(&session, &page(*limit, *offset))?)
            }
            Tell::Files { at, path, limit, offset } => {
                let session = self.instance.session(self.at)?;
                ("state cat", state::files_value(&session, at.as_ref(), path.as_deref(), &page(*limit, *offset))?)
            }
            Tell::File { at, path } => match state::file_value(&self.instance.session(self.at)?, at.as_ref(), path)? {
                Ok(value) => ("state cat", value),
                Err(report) => return Ok(Reply::failed(*report)),
            },
            Tell::Entry(name) => {
                let session = self.instance.session(self.at)?;
                ("ledger show", ledger::entry_value(&session, &session.entry(name)?)?)
            }
        };
        Ok(self.done(result.0, result.1, Facts::new()))
    }

    /// The call as it would be made on the command line.
    fn call_as_typed(&self, words: &Words) -> Result<Call, Failure> {
        let mut call = self.call(words)?;
        call.contract = None;
        Ok(call)
    }

    fn done(&self, command: &str, result: Value, facts: Facts) -> Reply {
        Reply::Done { document: envelope(true, command, result), facts }
    }

    /// A run that ended well, or a report with the run among its details.
    fn answered(&self, command: &str, answer: &Answer, value: Result<Value, ErrorReport>) -> Reply {
        let facts = facts(answer);
        if let Some(report) = answer.failure() {
            let report = match value {
                Ok(value) => report.detail("run", value),
                Err(_) => report,
            };
            return Reply::Failed { report: Box::new(report.detail("kept", answer.kept)), facts };
        }
        match value {
            Ok(value) => self.done(command, value, facts),
            Err(report) => Reply::Failed { report: Box::new(report.detail("kept", answer.kept)), facts },
        }
    }

    fn ran(&self, command: &str, answer: &Answer) -> Reply {
        let value = run::kept_value(answer, &self.serving().host);
        self.answered(command, answer, value)
    }

    fn moved(&self, session: &Session, moved: &Moved) -> Reply {
        let facts = crate::reply::entry_facts(&moved.entry.pin());
        self.done("undo", moved_value(session, moved), facts)
    }

    fn tell_run(&self, package: usize, words: &Words) -> Result<Reply, Failure> {
        let call = self.call_as_typed(words)?;
        let validated = self.serving().host.validate(&self.served.package, &call);
        let Some(reason) = validated.ok().and_then(|validated| validated.confirmation) else {
            return Ok(self.ran("run", &self.instance.run(&call)?));
        };
        let answer = self.instance.plan(&call)?;
        if answer.failure().is_some() {
            return Ok(self.ran("run", &answer));
        }
        let change = Change::of(&answer, &file_diffs(&answer));
        let question = self.question((package, Form::Told), words, answer.entry.hash, reason, change);
        self.ask_later(question.clone());
        let report = question.refusal("a token that may confirm applies the plan");
        let report = report.suggest("ask the user to look at the plan and to apply it").detail("kept", false);
        Ok(Reply::Failed { report: Box::new(report), facts: facts(&answer) })
    }

    fn tell_look(&self, words: &Words) -> Result<Reply, Failure> {
        let mut reply = self.ran("run", &self.instance.look(&self.call_as_typed(words)?)?);
        if let Reply::Done { facts, .. } | Reply::Failed { facts, .. } = &mut reply {
            // It is nowhere.
            facts.remove("hutch/entry");
        }
        Ok(reply)
    }

    fn tell_plan(&self, package: usize, words: &Words) -> Result<Reply, Failure> {
        let call = self.call_as_typed(words)?;
        let validated = self.serving().host.validate(&self.served.package, &call);
        let confirmation = validated.ok().and_then(|validated| validated.confirmation);
        let answer = self.instance.plan(&call)?;
        let is_good = answer.failure().is_none();
        let diffs = file_diffs(&answer);
        let change = Change::of(&answer, &diffs);
        // Where nobody need agree, nothing need be shown.
        let mut is_shown = true;
        if let Some(reason) = confirmation.clone().filter(|_| is_good) {
            let question = self.question((package, Form::Told), words, answer.entry.hash, reason, change.clone());
            is_shown = question.is_shown();
            self.ask_later(question);
        }
        let value = run::plan_value(&answer, &self.serving().host, confirmation.as_deref(), &diffs);
        Ok(match self.answered("plan", &answer, value) {
            Reply::Done { document, mut facts } => {
                facts.insert(CHANGES.to_owned(), change.text().into());
                facts.insert(WHOLE.to_owned(), is_shown.into());
                Reply::Done { document, facts }
            }
            reply => reply,
        })
    }

    fn tell_apply(&self, package: usize, plan: &EntryName, confirmed: bool) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        // What is last may be another one in a moment.
        let (planned, is_agreed) = meant(&session, plan, confirmed)?;
        let hash = planned.hash.to_string();
        let (host, name) = (&self.serving().host, EntryName::Prefix(hash.clone()));
        match host.apply(&self.served.package, &session, &name, &self.grants(is_agreed)) {
            Err(Failure::Confirmation { reason }) => {
                // It may have been planned elsewhere, or before this server began: a person finds it all the same.
                self.ask_later(self.question_of(package, &planned, reason.clone())?);
                let reason = match confirmed {
                    // A plan is agreed to by its name alone, and the token lacks nothing else.
                    true => format!("{reason}; its name is missing: last may be another plan by now, apply {hash}"),
                    false => format!("{reason}; a token that may confirm applies the plan"),
                };
                let report = Failure::Confirmation { reason }.report().detail("kept", false).detail("plan", hash);
                Ok(Reply::failed(report.suggest("ask the user to look at the plan and to apply it")))
            }
            applied => {
                let answer = applied?;
                if answer.kept {
                    self.settle(&planned.hash);
                }
                Ok(self.ran("apply", &answer))
            }
        }
    }

    fn tell_verify(&self, name: Option<&EntryName>) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        let mut verified = Vec::new();
        if let Some(sealed) = session.entry_or_last_run(name)? {
            let host = &self.serving().host;
            verified.push((sealed.pin(), host.verify(&self.served.package, &session, &sealed, &BTreeMap::new())?));
        }
        Ok(match verified_value(&verified, false) {
            Ok((value, _)) => self.done("verify", json!(value), Facts::new()),
            Err(report) => Reply::failed(report),
        })
    }

    fn tell_since(&self, after: Option<&Mark>, limit: u32) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        let last = session.head()?.last;
        let is_there = |mark: &Mark| -> Result<bool, Failure> {
            let hash = match mark.sequence {
                place if place == last.sequence => last.hash,
                place if (1..last.sequence).contains(&place) => session.entry(&EntryName::Sequence(place))?.hash,
                _ => return Ok(false),
            };
            Ok(hash.to_string().starts_with(&mark.digits))
        };
        // Nobody was told of anything in a ledger that is another one by now, as after a restore.
        let told = match after {
            None => last.sequence,
            Some(mark) if is_there(mark)? => mark.sequence,
            Some(_) => 0,
        };
        let items = if told < last.sequence { ledger::since(&session, told, limit)? } else { Vec::new() };
        let last = json!({"sequence": last.sequence, "hash": last.hash.to_string()});
        Ok(Reply::done(json!({"last": last, "items": items})))
    }

    fn tell_state(&self) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        let head = session.head()?.last.sequence;
        let state = session.entry(&EntryName::Sequence(head))?.open().map_err(Failure::Entry)?.state;
        let value = state::outside_value(&session)?;
        let facts = Facts::from_iter([(STATE.to_owned(), state.to_string().into())]);
        Ok(self.done("state diff", value, facts))
    }
}
