//! What is asked for, carried out on the instances that stay open. One entry of the ledger for each, as on the command line.

use crate::ask::{Ask, Back, Form, Tell, What, Words, invalid};
use crate::door::By;
use crate::names::Names;
use crate::question::{Change, Lines, Question, short};
use crate::reply::{Facts, Reply, entry_facts, facts, failure};
use crate::serving::{Served, Serving};
use hutch::find::{self, KnownCommand};
use hutch::{Answer, Call, EntryName, Failure, Grants, Instance, Mount, Moved, Session, Verified};
use hutch_documents::diff::file_diffs;
use hutch_documents::moved::moved_value;
use hutch_documents::there_is;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Request, Sealed};
use hutch_model::outcome::Contract;
use hutch_sandbox::Stop;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often a call is made again because another process changed the state meanwhile.
const RETRIES: u32 = 3;

/// The most plans whose questions are kept; the oldest is forgotten.
const QUESTIONS_MAX: usize = 256;
/// The most of those of one caller, whose own oldest is forgotten.
const QUESTIONS_EACH_MAX: usize = 32;

/// Each with the caller that asked for it, the oldest first.
type Questions = VecDeque<(Arc<str>, Question)>;

/// The instances of what is served, open.
pub(crate) struct Worker<'s> {
    serving: &'s Serving,
    /// Each from its first call on.
    instances: Vec<Mutex<Option<Instance<'s>>>>,
    /// Those that are open: asking waits for nobody who opens one.
    open: Vec<AtomicBool>,
    /// Tells those who wait for one that it is.
    opened: Box<dyn Fn() + Send + Sync>,
    /// What a person is to be asked before a plan that was made here is carried out.
    questions: Mutex<Questions>,
    /// The requests with a name, of each package.
    names: Vec<Mutex<Names>>,
}

/// Forgets the oldest question of a caller that has as many as one may, or else the oldest of all, if there are as many as there may be.
fn make_room<Q>(questions: &mut VecDeque<(Arc<str>, Q)>, caller: &Arc<str>) {
    let own = questions.iter().filter(|(lane, _)| lane == caller).count();
    let first = match own >= QUESTIONS_EACH_MAX {
        true => questions.iter().position(|(lane, _)| lane == caller),
        false => (questions.len() >= QUESTIONS_MAX).then_some(0),
    };
    if let Some(first) = first {
        questions.remove(first);
    }
}

impl<'s> Worker<'s> {
    /// One that has opened nothing yet, and tells when it has.
    pub(crate) fn new(serving: &'s Serving, opened: impl Fn() + Send + Sync + 'static) -> Worker<'s> {
        let instances = serving.packages.iter().map(|_| Mutex::default()).collect();
        let open = serving.packages.iter().map(|_| AtomicBool::default()).collect();
        let names = serving.packages.iter().map(|_| Mutex::default()).collect();
        Worker { serving, instances, open, opened: Box::new(opened), questions: Mutex::default(), names }
    }

    /// Carries out what is asked for on behalf of a caller, unless it is stopped.
    pub(crate) fn carry_out(&self, ask: &Ask, by: &By, stop: &Stop) -> Reply {
        match &ask.what {
            What::Told(Tell::Questions) => return Reply::done(json!({"items": self.waiting()})),
            What::Told(Tell::Decline(plan)) => return self.decline(ask.package, plan),
            What::Find { text, among } => return self.found(text, among),
            _ => {}
        }
        let at = (self.serving.surroundings.now)();
        let work = match self.begin(ask.package, by, stop, at) {
            Ok(Some(work)) => work,
            Ok(None) => return Reply::failed(ErrorReport::new(ErrorCode::NotFound, "no such package is served")),
            Err(failure) => return Reply::failed(failure.report()),
        };
        let done = match &ask.what {
            What::Run(words) => work.run(ask.package, words),
            What::Plan(words) => work.plan(ask.package, words),
            What::Apply { plan, confirmed, answer } => work.apply(ask.package, plan, *confirmed, *answer),
            What::Undo(back) => work.undo(back),
            What::Verify(entry) => work.verify(entry.as_ref()),
            What::History { before, limit } => work.history(*before, *limit),
            What::Find { text, among } => Ok(self.found(text, among)),
            What::Told(tell) => work.told((ask.package, work.request), tell),
        };
        done.unwrap_or_else(|failure| Reply::failed(failure.report()))
    }

    /// Commands by what they do.
    fn found(&self, text: &str, among: &[KnownCommand]) -> Reply {
        let items = match find::find(among, text) {
            Ok(items) => items,
            Err(reason) => return Reply::failed(invalid(reason)),
        };
        let slugs = self.serving.packages.iter().map(Served::slug);
        let note = || there_is(slugs, "hutch_describe tells of each", "no package is served");
        let note = items.is_empty().then(note);
        let mut document = json!({"by": hutch_documents::By::Package, "items": items});
        if let Some(note) = note {
            document["note"] = note.into();
        }
        Reply::done(document)
    }

    /// Whether the instance of a package is open, so that a call of it waits for no other.
    pub(crate) fn is_open(&self, package: usize) -> bool {
        self.open.get(package).is_none_or(|open| open.load(Ordering::Acquire))
    }

    /// What waits for a person, the last first.
    pub(crate) fn waiting(&self) -> Vec<Value> {
        let slug = |question: &Question| self.serving.packages.get(question.package).map(Served::slug);
        let told = |(_, one): &(Arc<str>, Question)| {
            json!({
                "package": slug(one), "plan": one.plan, "question": one.text, "apply": one.lines.apply,
                "change": one.change.text(), "whole": one.is_shown(),
            })
        };
        self.questions().iter().rev().map(told).collect()
    }

    /// Asks nobody any more about the plan that is so named.
    pub(crate) fn decline(&self, package: usize, plan: &str) -> Reply {
        let mut questions = self.questions();
        let before = questions.len();
        questions.retain(|(_, one)| one.package != package || !one.plan.to_string().starts_with(plan));
        match questions.len() < before {
            true => Reply::done(json!({})),
            false => Reply::failed(ErrorReport::new(ErrorCode::NotFound, format!("no plan {plan} waits for consent"))),
        }
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin<'b>(
        &'b self,
        package: usize,
        by: &'b By,
        stop: &Stop,
        at: Instant,
    ) -> Result<Option<Work<'b, 's>>, Failure> {
        let (Some(served), Some(instance)) = (self.serving.packages.get(package), self.instances.get(package)) else {
            return Ok(None);
        };
        let mut kept = instance.lock().unwrap_or_else(PoisonError::into_inner);
        let instance = match &*kept {
            Some(open) => open.on_behalf(by.caller.clone(), stop.clone()),
            None => {
                let open = self.serving.host.instance(&served.package, &self.serving.instance, at)?;
                if let Some(is_open) = self.open.get(package) {
                    is_open.store(true, Ordering::Release);
                }
                (self.opened)();
                kept.insert(open).on_behalf(by.caller.clone(), stop.clone())
            }
        };
        let request = by.request.map(|request| instance.sealed(request)).transpose()?;
        Ok(Some(Work { worker: self, served, instance: instance.requested(request), request, at, lane: &by.lane }))
    }
}

/// One thing that is done to one instance.
pub(crate) struct Work<'w, 's> {
    pub(crate) worker: &'w Worker<'s>,
    pub(crate) served: &'s Served,
    pub(crate) instance: Instance<'s>,
    /// What is asked for, if it has a name.
    pub(crate) request: Option<Request>,
    pub(crate) at: Instant,
    /// Who asks.
    pub(crate) lane: &'w Arc<str>,
}

impl Work<'_, '_> {
    pub(crate) fn serving(&self) -> &Serving {
        self.worker.serving
    }

    /// What is known of the requests of a package that have a name.
    pub(crate) fn names(&self, package: usize) -> Option<MutexGuard<'_, Names>> {
        Some(self.worker.names.get(package)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folders that whoever started the server grants, if the package asks for them.
    fn mounts(&self) -> BTreeMap<String, Mount> {
        let asked = self.served.package.manifest().mounts().iter();
        asked.filter_map(|name| Some((name.to_string(), self.serving().mounts.get(name.as_str())?.clone()))).collect()
    }

    /// What a call that is made again is given.
    pub(crate) fn grants(&self, confirmed: bool) -> Grants {
        let mut grants = Grants::default();
        (grants.mounts, grants.confirmed) = (self.mounts(), confirmed);
        grants
    }

    pub(crate) fn call(&self, words: &Words) -> Result<Call, Failure> {
        let seed = words.seed.or_else(|| (self.serving().surroundings.seed)());
        let seed = seed
            .ok_or_else(|| Failure::Run(hutch_sandbox::RunError::Host("the system gives no randomness".to_owned())))?;
        let mut call = Call::new(words.arguments.clone(), self.at, seed).in_instance(self.serving().instance.clone());
        call.stdin = words.stdin.clone();
        call.mounts = self.mounts();
        call.clock_start = words.now.unwrap_or(self.at);
        call.limits = self.serving().limits.clone();
        // A client is told the schema, and is given nothing else.
        call.contract = Some(if self.served.is_held() { Contract::Schema } else { Contract::Json });
        call.retries = RETRIES;
        Ok(call)
    }

    /// For real. What needs a confirmation is planned instead, for a person to look at.
    fn run(&self, package: usize, words: &Words) -> Result<Reply, Failure> {
        let call = self.call(words)?;
        let validated = self.serving().host.validate(&self.served.package, &call);
        let Some(reason) = validated.ok().and_then(|validated| validated.confirmation) else {
            return Ok(Reply::of(&self.instance.run(&call)?));
        };
        let answer = self.instance.plan(&call)?;
        if let Some(report) = failure(&answer) {
            return Ok(Reply::Failed { report: Box::new(report), facts: facts(&answer) });
        }
        let change = Change::of(&answer, &file_diffs(&answer));
        let question = self.question((package, Form::Bare), words, answer.entry.hash, reason, change);
        // Where the client can't ask, a person may still find it.
        self.ask_later(question.clone());
        Ok(Reply::Ask(question))
    }

    pub(crate) fn question(
        &self,
        (package, answer): (usize, Form),
        words: &Words,
        plan: Digest,
        reason: String,
        change: Change,
    ) -> Question {
        let said =
            self.served.contract.read_arguments(&words.arguments).command.map(|known| known.description.as_str());
        let text = Question::text((self.served.slug(), said), &words.arguments, &reason, &change, &plan);
        Question { package, plan, answer, reason, text, change, lines: self.lines(words, &plan) }
    }

    /// The lines by which a person looks at what a call would change, and carries out its plan.
    fn lines(&self, words: &Words, plan: &Digest) -> Lines {
        if self.serving().host.previews() {
            return Lines::default();
        }
        let digits = short(plan);
        // What it reads is not on a line.
        let is_typed = words.stdin.is_empty();
        let called: Vec<&str> = words.arguments.iter().map(String::as_str).collect();
        let look = is_typed.then(|| self.typed(&["plan", "--human"], &called)).flatten();
        Lines { look, apply: self.typed(&["apply", "--yes"], &[&digits]) }
    }

    /// The line of a command about this package in this instance, over the same folders.
    fn typed(&self, command: &[&str], behind: &[&str]) -> Option<String> {
        let instance = self.serving().instance.as_str();
        let named = ["--instance", instance];
        let named: &[&str] = if instance == "default" { &[] } else { &named };
        let mounts: Vec<String> = self.mounts().iter().map(|(name, mount)| mount.record().argument(name)).collect();
        let granted: Vec<&str> = mounts.iter().flat_map(|mount| ["--mount", mount]).collect();
        (self.serving().line)(&[command, named, &granted, &[self.served.word.as_str()], behind].concat())
    }

    fn plan(&self, package: usize, words: &Words) -> Result<Reply, Failure> {
        let call = self.call(words)?;
        let validated = self.serving().host.validate(&self.served.package, &call);
        let confirmation = validated.ok().and_then(|validated| validated.confirmation);
        let answer = self.instance.plan(&call)?;
        let plan = answer.entry.hash;
        let changes = file_diffs(&answer);
        if let Some(reason) = confirmation.clone() {
            self.ask_later(self.question((package, Form::Told), words, plan, reason, Change::of(&answer, &changes)));
        }
        Ok(Reply::made(
            &answer,
            |output| json!({"plan": plan, "confirmation": confirmation, "output": output, "changes": changes}),
        ))
    }

    /// Keeps a question until its plan is carried out. A preview's plan is nowhere, and nobody can agree to it.
    pub(crate) fn ask_later(&self, question: Question) {
        if self.serving().host.previews() {
            return;
        }
        let mut questions = self.questions();
        // The same call once more is the same question, about its newer plan.
        let is_like = |known: &Question| known.package == question.package && known.is_like(&question);
        questions.retain(|(lane, known)| lane != self.lane || !is_like(known));
        make_room(&mut questions, self.lane);
        questions.push_back((Arc::clone(self.lane), question));
    }

    /// The question about a plan that is in the ledger, by what the ledger says of it.
    pub(crate) fn question_of(&self, package: usize, planned: &Sealed, reason: String) -> Result<Question, Failure> {
        let record = planned.open().map_err(Failure::Entry)?.record;
        let arguments =
            record.invocation.iter().flat_map(|invocation| invocation.argv.iter().skip(1).cloned()).collect();
        // What stood on its standard input is not known here, so no line is the same call.
        let words = Words { arguments, ..Words::default() };
        let mut changes = Vec::new();
        for (name, listed, omitted) in record.changes() {
            for one in listed {
                let what = serde_json::to_value(one.change).unwrap_or_default();
                changes.push(format!("{} {name}/{}", what.as_str().unwrap_or_default(), one.path));
            }
            if omitted > 0 {
                changes.push(format!("{omitted} more in {name}"));
            }
        }
        let mut question =
            self.question((package, Form::Told), &words, planned.hash, reason, Change::of_paths(&changes));
        question.lines.look = None;
        Ok(question)
    }

    /// The plan has been carried out: nobody need be asked.
    pub(crate) fn settle(&self, plan: &Digest) {
        self.questions().retain(|(_, question)| question.plan != *plan);
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.worker.questions()
    }

    fn apply(&self, package: usize, plan: &EntryName, confirmed: bool, form: Form) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        // What is last may be another one when a person has answered.
        let (planned, confirmed) = meant(&session, plan, confirmed)?;
        let planned = planned.hash;
        let is_it = |(_, one): &&(Arc<str>, Question)| one.plan == planned && one.package == package;
        let known = self.questions().iter().find(is_it).map(|(_, one)| one.clone());
        if let Some(question) = known.filter(|_| !confirmed) {
            return Ok(Reply::Ask(question));
        }
        let name = EntryName::Prefix(planned.to_string());
        let applied = self.serving().host.apply(&self.served.package, &session, &name, &self.grants(confirmed));
        let answer: Answer = match applied {
            // What it changes is not known here any more, and nobody is asked to confirm what can't be shown.
            Err(Failure::Confirmation { reason }) => {
                let report = Failure::Confirmation { reason }.report().detail("kept", false);
                let report = report.suggest("preview the call again with hutch_plan, then apply that plan");
                return Ok(Reply::failed(match self.lines(&Words::default(), &planned).apply {
                    Some(line) => report.fixed_by(line, "a person carries out exactly this plan", "high"),
                    None => report,
                }));
            }
            applied => applied?,
        };
        if answer.kept {
            self.settle(&planned);
        }
        Ok(match form {
            Form::Bare => Reply::of(&answer),
            Form::Told => Reply::made(&answer, |output| json!({"output": output, "kept": answer.kept})),
        })
    }

    /// Moves to another state, with the folders that are granted here.
    pub(crate) fn go(&self, session: &Session, back: &Back) -> Result<Moved, Failure> {
        match back {
            Back::Count(count) => session.undo_last(*count, &self.mounts()),
            Back::Forward(count) => session.redo_last(*count, &self.mounts()),
            Back::Entry(name) => session.undo(name),
        }
    }

    fn undo(&self, back: &Back) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        let moved = self.go(&session, back)?;
        Ok(Reply::Done { document: moved_value(&session, &moved), facts: entry_facts(&moved.entry.pin()) })
    }

    fn verify(&self, name: Option<&EntryName>) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        let Some(sealed) = session.entry_or_last_run(name)? else {
            return Ok(Reply::failed(ErrorReport::new(ErrorCode::NotFound, "the history has no run yet")));
        };
        let entry = json!({"sequence": sealed.sequence, "hash": sealed.hash});
        let verified = self.serving().host.verify(&self.served.package, &session, &sealed, &BTreeMap::new())?;
        let (code, message) = match verified {
            Verified::Equal => return Ok(Reply::done(json!({"entry": entry, "equal": true}))),
            Verified::Differs(what) => {
                (ErrorCode::VerifyFailed, format!("it came to something else: {}", what.join(", ")))
            }
            Verified::NotReproducible(reason) => (ErrorCode::NotReproducible, reason),
            _ => (ErrorCode::NotReproducible, "no guest ran: there is nothing to compare".to_owned()),
        };
        Ok(Reply::failed(ErrorReport::new(code, message).detail("entry", entry)))
    }

    fn history(&self, before: Option<u64>, limit: u64) -> Result<Reply, Failure> {
        let session = self.instance.session(self.at)?;
        let head = session.head()?;
        let total = head.last.sequence;
        let end = before.map_or(total, |before| total.min(before.saturating_sub(1)));
        let mut items = Vec::new();
        for sequence in (end.saturating_sub(limit) + 1..=end).rev() {
            let sealed = session.entry(&EntryName::Sequence(sequence))?;
            let mut item = summary(&sealed)?;
            if !head.is_own(sequence) {
                item["from_elsewhere"] = true.into();
            }
            items.push(item);
        }
        let facts = Facts::new();
        Ok(Reply::Done { document: json!({"items": items, "total": total}), facts })
    }
}

/// The plan that a name means, and whether it is carried out as one that a person agreed to: nobody has looked at whichever is last.
pub(crate) fn meant(session: &Session, plan: &EntryName, confirmed: bool) -> Result<(Sealed, bool), Failure> {
    match plan {
        EntryName::Last => Ok((session.last_plan()?.ok_or(Failure::NoPlan)?, false)),
        plan => Ok((session.entry(plan)?, confirmed)),
    }
}

/// What a list says of an entry.
fn summary(sealed: &Sealed) -> Result<Value, Failure> {
    let record = sealed.open().map_err(Failure::Entry)?.record;
    let changes = record.changes().map(|(_, listed, omitted)| listed.len() as u64 + omitted).sum::<u64>();
    Ok(json!({
        "sequence": sealed.sequence,
        "hash": sealed.hash,
        "at": record.at,
        "kind": record.kind,
        "caller": record.caller,
        "argv": record.invocation.map(|invocation| invocation.argv),
        "ending": record.outcome.map(|outcome| outcome.ending),
        "error": record.error,
        "kept": record.kept,
        "changes": changes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_questions_wait_and_a_caller_that_asks_more_loses_its_own() {
        let mut questions = VecDeque::new();
        let mut ask = |caller: &str, number: usize| {
            let caller = Arc::from(caller);
            make_room(&mut questions, &caller);
            questions.push_back((caller, number));
            questions.iter().map(|(lane, number)| (lane.to_string(), *number)).collect::<Vec<_>>()
        };
        ask("other", 0);
        let mut all = Vec::new();
        for number in 0..100 {
            all = ask("busy", number);
        }
        assert_eq!(all[..2], [("other".to_owned(), 0), ("busy".to_owned(), 100 - QUESTIONS_EACH_MAX)]);
        assert_eq!(all.len(), 1 + QUESTIONS_EACH_MAX);
        for number in 0..QUESTIONS_MAX {
            all = ask(&format!("one of many {number}"), number);
        }
        assert_eq!((all.len(), all[0].1), (QUESTIONS_MAX, 0));
        assert!(!all.iter().any(|(lane, _)| lane == "other" || lane == "busy"), "the oldest go");
    }
}
