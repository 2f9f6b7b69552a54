//! Registries that do as they should, and registries that do not: what is typed, what is sent where, and what must never be sent.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

mod double;

use double::{Answered, Asked, Double, surroundings};
use hutch::package::{Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_registry::{
    Artifact, ArtifactError, CredentialFile, Pushed, Reference, RegistryError, Remote, Repository, Surroundings,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn artifact() -> Artifact {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    let bounds = PackageBounds::default();
    Artifact::of(&Package::open(&Source::open(&folder, &bounds).unwrap(), bounds).unwrap()).unwrap()
}

/// Of somebody whose credentials, a:1, are kept for these hosts.
fn known_at(hosts: &[&str]) -> Surroundings {
    let auths: Vec<String> = hosts.iter().map(|host| format!(r#""{host}":{{"auth":"YTox"}}"#)).collect();
    let text = format!("{{\"auths\":{{{}}}}}", auths.join(","));
    Surroundings { credentials: vec![CredentialFile { path: "f".to_owned(), text }], ..surroundings() }
}

fn at(double: &Double, surroundings: Surroundings) -> (Repository, Reference) {
    let reference: Reference = format!("oci://{}/acme/todo:1", double.host).parse().unwrap();
    (Repository::Remote(Remote::new(&double.host, "acme/todo", surroundings).unwrap()), reference)
}

fn anonymous(double: &Double) -> (Repository, Reference) {
    at(double, surroundings())
}

fn pull(repository: &Repository, reference: &Reference) -> Result<Vec<u8>, RegistryError> {
    let texts = repository.texts(repository.head(reference)?)?;
    repository.packed(&texts)
}

/// A registry that holds the to-do package.
fn stocked() -> (Double, Repository, Reference) {
    let double = Double::new();
    let (repository, reference) = anonymous(&double);
    repository.push(&artifact(), &reference, false).unwrap();
    (double, repository, reference)
}

fn says(double: &Double, part: &'static str, answer: impl Fn(&Asked) -> Answered + Send + 'static) {
    double.instead(move |asked| asked.target.contains(part).then(|| answer(asked)));
}

#[test]
fn what_is_pushed_is_pulled_and_is_not_sent_twice() {
    let (double, repository, reference) = stocked();
    assert!(!pull(&repository, &reference).unwrap().is_empty());
    assert_eq!(double.manifest("1").unwrap(), artifact().manifest());
    let before = double.asked().len();
    let again = repository.push(&artifact(), &reference, false).unwrap();
    assert_eq!(again, Pushed { bytes: 0, is_new: false });
    assert!(double.asked().iter().skip(before).all(|asked| matches!(asked.method.as_str(), "GET" | "HEAD")));
}

#[test]
fn a_tag_that_names_something_else_is_left_alone_and_nothing_is_sent() {
    let (double, repository, reference) = stocked();
    double.put("1", "application/vnd.oci.image.manifest.v1+json", b"{}");
    let before = double.asked().len();
    let error = repository.push(&artifact(), &reference, false).unwrap_err();
    assert!(matches!(error, RegistryError::TagTaken { .. }), "{error}");
    assert!(double.asked().iter().skip(before).all(|asked| asked.method == "GET"), "something was sent");
    assert_eq!(double.manifest("1").unwrap(), b"{}");
    assert!(repository.push(&artifact(), &reference, true).unwrap().is_new);
}

#[test]
fn a_tag_that_another_program_wrote_at_once_is_noticed() {
    let double = Double::new();
    let (repository, reference) = anonymous(&double);
    let puts = AtomicUsize::new(0);
    double.instead(move |asked| {
        let is_put = asked.method == "PUT" && asked.target.contains("/manifests/");
        match (is_put.then(|| puts.fetch_add(1, Ordering::SeqCst)), asked.target.contains("/manifests/1")) {
            (Some(_), _) => Some(Answered::new(201, "")),
            (None, true) if puts.load(Ordering::SeqCst) > 0 => Some(Answered::new(200, "{}")),
            _ => None,
        }
    });
    let error = repository.push(&artifact(), &reference, false).unwrap_err();
    assert_eq!((error.code(), error.code().exit_status()), (ErrorCode::Conflict, 30), "{error}");
}

#[test]
fn bytes_that_are_cut_added_or_changed_are_typed_errors() {
    let (double, repository, reference) = stocked();
    let layer = artifact().layer().to_vec();
    let blob = |change: fn(Vec<u8>) -> Answered| {
        let layer = layer.clone();
        let name = hutch_registry::Sha256::of(&layer).to_string();
        double.instead(move |asked| asked.target.ends_with(&name).then(|| change(layer.clone())));
        pull(&repository, &reference).unwrap_err()
    };
    let cut = blob(|layer| Answered { length: Some(layer.len()), ..Answered::new(200, &layer[..100]) });
    assert!(matches!(cut, RegistryError::Unreachable { .. }), "{cut}");
    let short = blob(|layer| Answered::new(200, &layer[..100]));
    assert!(matches!(short, RegistryError::Artifact(ArtifactError::Length { what: "component", .. })), "{short}");
    let long = blob(|layer| Answered::new(200, [layer, vec![0]].concat()));
    assert!(matches!(long, RegistryError::Artifact(ArtifactError::Length { what: "component", .. })), "{long}");
    let other = blob(|mut layer| {
        layer[9] ^= 1;
        Answered::new(200, layer)
    });
    assert!(matches!(other, RegistryError::Artifact(ArtifactError::Digest { what: "component", .. })), "{other}");
}

#[test]
fn a_manifest_that_is_not_the_one_named_or_is_too_long_is_refused() {
    let (double, repository, reference) = stocked();
    let named = reference.with_digest(artifact().digest());
    says(&double, "/manifests/", |_| Answered::new(200, "{}"));
    let error = pull(&repository, &named).unwrap_err();
    assert!(matches!(error, RegistryError::Artifact(ArtifactError::Digest { what: "manifest", .. })), "{error}");
    // Said to be 5 GiB, of which nothing is sent: it is refused by what is said.
    says(&double, "/manifests/", |_| Answered { length: Some(5 << 30), ..Answered::new(200, "") });
    let error = pull(&repository, &reference).unwrap_err();
    assert!(matches!(error, RegistryError::Artifact(ArtifactError::Oversize { .. })), "{error}");
}

#[test]
fn a_redirect_is_followed_without_credentials_and_not_without_end() {
    let elsewhere = Double::new();
    let (double, _, reference) = stocked();
    let layer = artifact().layer().to_vec();
    elsewhere.instead(move |_| Some(Answered::new(200, layer.clone())));
    let (name, target) = (hutch_registry::Sha256::of(artifact().layer()).to_string(), elsewhere.host.clone());
    double.instead(move |asked| match asked.headers.contains_key("authorization") {
        false => Some(Answered::new(401, "").header("www-authenticate", "Basic realm=\"x\"")),
        true if asked.target.ends_with(&name) => {
            Some(Answered::new(307, "").header("location", format!("http://{target}/blob")))
        }
        true => None,
    });
    let (repository, _) = at(&double, known_at(&[&double.host, &elsewhere.host]));
    pull(&repository, &reference).unwrap();
    let asked = elsewhere.asked();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].headers.contains_key("authorization"), "a credential left for another host");
    double.instead(|asked| Some(Answered::new(302, "").header("location", asked.target.clone())));
    let before = double.asked().len();
    let error = repository.head(&reference).unwrap_err();
    assert!(matches!(error, RegistryError::Answer { .. }), "{error}");
    assert!(double.asked().len() - before < 10);
    for location in ["ftp://127.0.0.1/x", "x y", "http://a:b@127.0.0.1/", ""] {
        double.instead(move |_| Some(Answered::new(302, "").header("location", location)));
        let error = repository.head(&reference).unwrap_err();
        assert!(matches!(error, RegistryError::Answer { .. }), "{location}: {error}");
    }
}

/// Asks for a token at `giver`, and takes none but `good`.
fn guard(double: &Double, giver: &str, good: &'static str) {
    let realm = format!("http://{giver}/token");
    double.instead(move |asked| {
        if asked.target.starts_with("/token") {
            return Some(Answered::new(200, format!("{{\"token\":\"{good}\"}}")));
        }
        let is_known = asked.headers.get("authorization").is_some_and(|sent| *sent == format!("Bearer {good}"));
        let challenge = format!("Bearer realm=\"{realm}\",service=\"s\",scope=\"repository:acme/todo:pull,push\"");
        (!is_known).then(|| Answered::new(401, "").header("www-authenticate", challenge))
    });
}

#[test]
fn a_token_is_asked_for_and_renewed_in_the_middle_of_a_push() {
    let double = Double::new();
    guard(&double, &double.host.clone(), "one");
    let (repository, reference) = at(&double, known_at(&[&double.host]));
    repository.head(&reference).unwrap_err();
    // The first token is not good any more.
    guard(&double, &double.host.clone(), "two");
    repository.push(&artifact(), &reference, false).unwrap();
    for asked in double.asked() {
        let sent = asked.headers.get("authorization").map(String::as_str);
        match asked.target.starts_with("/token") {
            true => {
                assert_eq!(sent, Some("Basic YTox"));
                assert!(asked.target.contains("scope=repository%3Aacme%2Ftodo%3Apull%2Cpush"), "{}", asked.target);
            }
            false => assert_ne!(sent, Some("Basic YTox"), "the password went to the registry, which asked for a token"),
        }
    }
}

#[test]
fn a_password_is_not_sent_to_who_is_not_known_to_give_tokens() {
    let (double, giver) = (Double::new(), Double::new());
    guard(&giver, &giver.host, "t");
    guard(&double, &giver.host, "t");
    let (repository, reference) = at(&double, known_at(&[&double.host, &giver.host]));
    let error = repository.head(&reference).unwrap_err();
    assert_eq!(error.code(), ErrorCode::AuthenticationFailed, "{error}");
    assert!(error.to_string().contains("--token-host"), "{error}");
    assert!(giver.asked().is_empty(), "somebody else was asked");
    // Said to be right, it is; and without a password there is nothing to lose.
    let said = Surroundings { token_host: Some(giver.host.clone()), ..known_at(&[&double.host]) };
    for surroundings in [said, surroundings()] {
        let (repository, _) = at(&double, surroundings);
        assert!(matches!(repository.head(&reference), Err(RegistryError::Missing(_))));
    }
}

#[test]
fn hostile_challenges_end_in_a_refusal_after_one_try() {
    let double = Double::new();
    let (repository, reference) = at(&double, known_at(&[&double.host]));
    for challenge in [
        "",
        "Bearer",
        "Bearer realm=\"ftp://x\"",
        "Bearer realm=\"/token\"",
        "Negotiate",
        "Basic realm=\"x\"",
        "Bearer realm=\"http://127.0.0.1:1/token\"",
    ] {
        double.instead(move |_| Some(Answered::new(401, "").header("www-authenticate", challenge)));
        let before = double.asked().len();
        let error = repository.head(&reference).unwrap_err();
        assert!(matches!(error.code(), ErrorCode::AuthenticationFailed), "{challenge}: {error}");
        assert!(double.asked().len() - before <= 2, "{challenge}: asked again and again");
        assert!(!error.to_string().contains("YTox"), "{error}");
    }
    // A token that would break out of its header, and one that is read no further than so long.
    let given = |token: String, expected: ErrorCode| {
        let realm = format!("Bearer realm=\"http://{}/token\"", double.host);
        double.instead(move |asked| {
            Some(match asked.target.starts_with("/token") {
                true => Answered::new(200, format!(r#"{{"token":"{token}"}}"#)),
                false => Answered::new(401, "").header("www-authenticate", realm.clone()),
            })
        });
        let before = double.asked().len();
        assert_eq!(repository.head(&reference).unwrap_err().code(), expected);
        let sent = double.asked().split_off(before);
        assert!(sent.iter().all(|asked| asked.headers.get("authorization").is_none_or(|sent| sent.len() < 100)));
    };
    given(r"a\r\nx: y".to_owned(), ErrorCode::AuthenticationFailed);
    given("a".repeat(1 << 20), ErrorCode::ArtifactInvalid);
}

#[test]
fn what_is_pushed_goes_to_no_other_host() {
    let (double, elsewhere) = (Double::new(), Double::new());
    let (repository, reference) = anonymous(&double);
    for location in [format!("http://{}/upload", elsewhere.host), "//other/upload".to_owned(), String::new()] {
        let location = location.clone();
        says(&double, "/blobs/uploads/", move |_| Answered::new(202, "").header("location", location.clone()));
        let error = repository.push(&artifact(), &reference, false).unwrap_err();
        assert!(matches!(error, RegistryError::Answer { .. }), "{error}");
    }
    assert!(elsewhere.asked().is_empty());
    assert_eq!(double.manifest("1"), None, "a tag names what is not there");
}

/// Of somebody who sends in parts of so many bytes.
fn in_parts(part_bytes: usize) -> Surroundings {
    Surroundings { part_bytes, ..surroundings() }
}

/// How many bytes of uploads were sent, and by which methods.
fn uploaded(double: &Double) -> (usize, Vec<String>) {
    let asked: Vec<Asked> =
        double.asked().into_iter().filter(|asked| asked.target.contains("/blobs/uploads/")).collect();
    (asked.iter().map(|asked| asked.body.len()).sum(), asked.into_iter().map(|asked| asked.method).collect())
}

#[test]
fn what_is_long_is_sent_in_parts_and_a_broken_connection_costs_one() {
    let length = artifact().layer().len();
    let whole = length + artifact().config().len();
    let part = length / 4 + 1;
    for (breaks, more) in [
        (&[][..], 0),
        // Nothing of the part is there: it is sent again.
        (&[(part + 9, false)], part),
        // As far as it came it is not sent again.
        (&[(part + 9, true)], part - 9),
        (&[(1, true), (part, false), (2 * part, true), (length - 1, false), (length - 1, true)], 4 * part),
    ] {
        let double = Double::new();
        breaks.iter().for_each(|(bytes, is_kept)| double.break_at(*bytes, *is_kept));
        let (repository, reference) = at(&double, in_parts(part));
        let pushed = repository.push(&artifact(), &reference, false).unwrap();
        assert_eq!(pushed.bytes as usize, whole + artifact().manifest().len());
        pull(&repository, &reference).unwrap();
        let (sent, methods) = uploaded(&double);
        assert!(sent <= whole + more, "{breaks:?}: {sent} bytes for {whole}");
        assert_eq!(methods.iter().filter(|method| *method == "GET").count(), breaks.len(), "{methods:?}");
        assert!(methods.iter().filter(|method| *method == "PATCH").count() >= 3, "{methods:?}");
    }
}

#[test]
fn an_upload_that_a_registry_does_not_know_any_more_is_begun_anew() {
    let double = Double::new();
    let (is_lost, posts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // It forgets the upload when two parts were sent, as one does that is started again.
    double.instead(move |asked| match asked.method.as_str() {
        "POST" => {
            posts.fetch_add(1, Ordering::SeqCst);
            None
        }
        "PATCH" if posts.load(Ordering::SeqCst) == 1 => {
            (is_lost.fetch_add(1, Ordering::SeqCst) >= 2).then(|| Answered::new(404, ""))
        }
        "GET" if asked.target.contains("/uploads/") => Some(Answered::new(404, "")),
        _ => None,
    });
    let (repository, reference) = at(&double, in_parts(artifact().layer().len() / 4 + 1));
    repository.push(&artifact(), &reference, false).unwrap();
    pull(&repository, &reference).unwrap();
    assert_eq!(uploaded(&double).1.iter().filter(|method| *method == "POST").count(), 3);
}

#[test]
fn a_registry_that_takes_no_parts_is_sent_the_whole() {
    for status in [404, 405, 501] {
        let double = Double::new();
        double.instead(move |asked| (asked.method == "PATCH").then(|| Answered::new(status, "")));
        let (repository, reference) = at(&double, in_parts(1000));
        repository.push(&artifact(), &reference, false).unwrap();
        pull(&repository, &reference).unwrap();
    }
    // One that wants larger parts is sent those.
    let double = Double::new();
    double.instead(|asked| {
        let begun = Answered::new(202, "").header("location", "/v2/acme/todo/blobs/uploads/session?state=0");
        (asked.method == "POST").then(|| begun.header("oci-chunk-min-length", "1000000000"))
    });
    let (repository, reference) = at(&double, in_parts(1000));
    repository.push(&artifact(), &reference, false).unwrap();
    assert!(!uploaded(&double).1.contains(&"PATCH".to_owned()));
}

#[test]
fn what_will_not_go_well_is_not_tried_again_and_what_never_does_is_given_up() {
    let pushed = |part: usize, answer: fn(&Asked) -> Option<Answered>| {
        let double = Double::new();
        double.instead(answer);
        let (repository, reference) = at(&double, in_parts(part));
        let error = repository.push(&artifact(), &reference, false).unwrap_err();
        assert_eq!(double.manifest("1"), None, "a tag names what is not there");
        (error, uploaded(&double).1.len())
    };
    let (error, calls) = pushed(1000, |asked| (asked.method == "PATCH").then(|| Answered::new(413, "")));
    assert!(matches!(error, RegistryError::Answer { .. }), "{error}");
    assert_eq!(calls, 2, "tried again");
    let (error, _) = pushed(1000, |asked| (asked.method == "PATCH").then(|| Answered::new(403, "")));
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    // A connection that always breaks, a registry that is always busy, and one that forgets a bit of each part.
    let (error, calls) = pushed(1000, |asked| (asked.method == "PATCH").then(Answered::default));
    assert!(matches!(error, RegistryError::Unreachable { .. }) && calls < 20, "{error} after {calls}");
    let (error, calls) = pushed(usize::MAX, |asked| (asked.method == "PUT").then(|| Answered::new(503, "")));
    assert!(matches!(error, RegistryError::Busy { .. }) && calls < 20, "{error} after {calls}");
    let (error, calls) = pushed(100_000, |asked| {
        let location = || "/v2/acme/todo/blobs/uploads/session?state=0";
        let short = || Answered::new(202, "").header("location", location()).header("range", "0-5");
        (asked.method == "PATCH").then(short)
    });
    assert!(matches!(error, RegistryError::Answer { .. }) && calls < 60, "{error} after {calls}");
}

#[test]
fn an_answer_that_was_lost_is_looked_for() {
    let double = Double::new();
    let kept = double.clone();
    let puts = AtomicUsize::new(0);
    let layer = hutch_registry::Sha256::of(artifact().layer()).to_string();
    double.instead(move |asked| {
        let is_layer = asked.method == "PUT" && asked.target.ends_with(&layer);
        (is_layer && puts.fetch_add(1, Ordering::SeqCst) == 0)
            .then(|| Answered { is_lost: true, ..Answered::default() })
    });
    let (repository, reference) = at(&kept, surroundings());
    repository.push(&artifact(), &reference, false).unwrap();
    let (sent, _) = uploaded(&kept);
    assert_eq!(sent, artifact().layer().len() + artifact().config().len(), "sent again what was there");
}

#[test]
fn refusals_are_told_apart_and_hold_nothing_that_acts_on_a_terminal() {
    let double = Double::new();
    let (repository, reference) = anonymous(&double);
    for (status, code) in [
        (403, ErrorCode::PermissionDenied),
        (404, ErrorCode::PackageNotFound),
        (429, ErrorCode::RegistryFailed),
        (500, ErrorCode::RegistryFailed),
    ] {
        double.instead(move |_| Some(Answered::new(status, r#"{"errors":[{"code":"X","message":"\u001b[31mred"}]}"#)));
        let error = repository.head(&reference).unwrap_err();
        assert_eq!(error.code(), code, "{status}: {error}");
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
    }
    let (repository, _) = {
        let reference: Reference = "oci://127.0.0.1:1/acme/todo:1".parse().unwrap();
        (Repository::Remote(Remote::new("127.0.0.1:1", "acme/todo", surroundings()).unwrap()), reference)
    };
    assert_eq!(repository.head(&reference).unwrap_err().code(), ErrorCode::RegistryFailed);
}

#[test]
fn tags_come_page_by_page_from_this_host_and_not_without_end() {
    let (double, repository, _) = stocked();
    let asked = |answer: fn(&Asked, &str) -> Answered| {
        let host = double.host.clone();
        says(&double, "/tags/list", move |asked| answer(asked, &host));
        repository.tags()
    };
    let found = asked(|asked, host| match asked.target.contains("last=b") {
        false => next_page(&format!("http://{host}/v2/acme/todo/tags/list?last=b")),
        true => Answered::new(200, r#"{"tags":["1.0.0","b","sha256-00","sha256-00.sig"]}"#),
    });
    assert_eq!(found.unwrap(), ["1.0.0", "a", "b"]);
    assert!(asked(|_, _| Answered::new(200, r#"{"name":"acme/todo","tags":null}"#)).unwrap().is_empty());
    type Answers = fn(&Asked, &str) -> Answered;
    let hostile: [(Answers, ErrorCode); 6] = [
        (
            |_, _| Answered::new(200, format!(r#"{{"tags":[{}"a"]}}"#, r#""a","#.repeat(100_000))),
            ErrorCode::RegistryFailed,
        ),
        (|_, _| next_page("/v2/acme/todo/tags/list?again"), ErrorCode::RegistryFailed),
        (|_, _| next_page("http://elsewhere.example/tags"), ErrorCode::RegistryFailed),
        (|_, _| next_page("ftp://elsewhere.example/tags"), ErrorCode::RegistryFailed),
        (|_, _| Answered::new(200, "[]"), ErrorCode::ArtifactInvalid),
        (|_, _| Answered::new(404, ""), ErrorCode::PackageNotFound),
    ];
    for (answer, code) in hostile {
        assert_eq!(asked(answer).unwrap_err().code(), code);
    }
    assert!(double.asked().len() < 60, "it is followed without end");
}

fn next_page(to: &str) -> Answered {
    Answered::new(200, r#"{"tags":["a"]}"#).header("link", format!(r#"<{to}>; rel="next""#))
}

/// Of somebody who waits ten seconds in all, a second at first; and what was waited.
fn patient() -> (Surroundings, Arc<Mutex<Vec<Duration>>>) {
    let waited = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&waited);
    let sleep = Arc::new(move |pause| kept.lock().unwrap().push(pause));
    let part_bytes = artifact().layer().len() / 2 + 1;
    (Surroundings { pause: Duration::from_secs(1), sleep, part_bytes, ..known_at(&["127.0.0.1"]) }, waited)
}

/// Answers the first of every kind of request so.
fn busy_once(answer: impl Fn() -> Answered + Send + 'static) -> impl Fn(&Asked) -> Option<Answered> + Send + 'static {
    let seen = Mutex::new(BTreeSet::new());
    move |asked| {
        let target = asked.target.split('?').next().unwrap();
        seen.lock().unwrap().insert((asked.method.clone(), target.to_owned())).then(&answer)
    }
}

#[test]
fn a_busy_registry_is_waited_for_whatever_it_is_asked() {
    for status in [429, 503] {
        let double = Double::new();
        double.instead(busy_once(move || Answered::new(status, "").header("retry-after", "3")));
        let (surroundings, waited) = patient();
        let (repository, reference) = at(&double, surroundings);
        repository.push(&artifact(), &reference, false).unwrap();
        pull(&repository, &reference).unwrap();
        repository.tags().unwrap_err();
        let methods: BTreeSet<String> = double.asked().into_iter().map(|asked| asked.method).collect();
        assert_eq!(Vec::from_iter(methods), ["GET", "HEAD", "PATCH", "POST", "PUT"]);
        let waited = waited.lock().unwrap();
        assert!(waited.len() > 8 && waited.iter().all(|pause| *pause == Duration::from_secs(3)), "{waited:?}");
    }
    // Who gives tokens is waited for, too.
    let double = Double::new();
    let realm = format!("http://{}/token", double.host);
    let tokens = AtomicUsize::new(0);
    double.instead(move |asked| match asked.headers.contains_key("authorization") {
        true => None,
        false if !asked.target.starts_with("/token") => {
            Some(Answered::new(401, "").header("www-authenticate", format!("Bearer  realm=\"{realm}\"")))
        }
        false if tokens.fetch_add(1, Ordering::SeqCst) == 0 => Some(Answered::new(429, "")),
        false => Some(Answered::new(200, r#"{"token":null,"access_token":"t"}"#)),
    });
    let (surroundings, waited) = patient();
    let (repository, reference) = at(&double, Surroundings { credentials: Vec::new(), ..surroundings });
    assert_eq!(repository.head(&reference).unwrap_err().code(), ErrorCode::PackageNotFound);
    assert_eq!(*waited.lock().unwrap(), [Duration::from_secs(1)]);
}

#[test]
fn a_busy_registry_is_waited_for_as_long_as_the_operator_waits() {
    let asked = |answer: fn() -> Answered| {
        let double = Double::new();
        double.instead(move |_| Some(answer()));
        let (surroundings, waited) = patient();
        let (repository, reference) = at(&double, surroundings);
        let error = repository.head(&reference).unwrap_err();
        assert_eq!(error.code(), ErrorCode::RegistryFailed, "{error}");
        assert!(matches!(error, RegistryError::Busy { .. }), "{error}");
        let waited: Vec<u64> = waited.lock().unwrap().iter().map(Duration::as_secs).collect();
        (error.to_string(), waited, double.asked().len())
    };
    // Twice as long each time, and ten seconds in all.
    let (_, waited, calls) = asked(|| Answered::new(503, ""));
    assert_eq!((waited, calls), (vec![1, 2, 4, 3], 5));
    let (_, waited, _) = asked(|| Answered::new(429, "").header("retry-after", "4"));
    assert_eq!(waited, [4, 4]);
    // What is longer than that is not waited for at all, and said.
    let (error, waited, calls) = asked(|| Answered::new(429, "").header("retry-after", "3600"));
    assert_eq!((waited.len(), calls), (0, 1));
    assert!(error.contains("3600 s"), "{error}");
    let (_, waited, calls) = asked(|| {
        let answer = Answered::new(503, "").header("date", "Fri, 31 Dec 1999 23:59:50 GMT");
        answer.header("retry-after", "Sat, 01 Jan 2000 00:00:00 GMT")
    });
    assert_eq!((waited, calls), (vec![10], 2));
    // Who wants to be asked at once is not asked without end.
    let (_, waited, calls) = asked(|| Answered::new(429, "").header("retry-after", "0"));
    assert_eq!((waited, calls), (vec![1; 10], 11));
}

#[test]
fn an_upload_goes_on_where_its_location_means() {
    for location in ["session?state=0", "./session?state=0", "//HOST/v2/acme/todo/blobs/uploads/session?state=0"] {
        let double = Double::new();
        let location = location.replace("HOST", &double.host);
        double.instead(move |asked| {
            let location = location.clone();
            (asked.method == "POST").then(|| Answered::new(202, "").header("location", location))
        });
        let (repository, reference) = anonymous(&double);
        repository.push(&artifact(), &reference, false).unwrap();
        pull(&repository, &reference).unwrap();
    }
    // As a redirect has it, too.
    let (double, repository, reference) = stocked();
    let wanted = artifact().digest();
    double.instead(move |asked| {
        asked.target.ends_with("/manifests/1").then(|| Answered::new(307, "").header("location", wanted.to_string()))
    });
    assert!(repository.head(&reference).is_err(), "what stands before a colon is a scheme");
    double.instead(move |asked| {
        let location = format!("./{wanted}");
        asked.target.ends_with("/manifests/1").then(|| Answered::new(307, "").header("location", location))
    });
    assert_eq!(repository.head(&reference).unwrap().digest(), wanted);
}

#[test]
fn who_refuses_is_named_and_not_who_led_there() {
    let (double, repository, reference) = stocked();
    let elsewhere = Double::new();
    let target = format!("http://{}/blob", elsewhere.host);
    says(&double, "/blobs/", move |_| Answered::new(307, "").header("location", target.clone()));
    for status in [403, 404, 418, 503] {
        elsewhere.instead(move |_| Some(Answered::new(status, "")));
        let error = pull(&repository, &reference).unwrap_err().to_string();
        let is_lost = status == 404;
        assert_eq!(error.contains(&elsewhere.host), !is_lost, "{status}: {error}");
        assert_eq!(error.contains(&double.host), is_lost, "{status}: {error}");
    }
}

#[test]
fn what_a_registry_says_that_it_sends_is_held_against_what_comes() {
    let (double, repository, reference) = stocked();
    let says = |part: &str, body: &[u8], digest: &str| {
        let (part, body, digest) = (part.to_owned(), body.to_vec(), digest.to_owned());
        double.instead(move |asked| {
            let answer = || Answered::new(200, body.clone()).header("docker-content-digest", digest.clone());
            asked.target.ends_with(&part).then(answer)
        });
    };
    let made = artifact();
    let layer = hutch_registry::Sha256::of(made.layer()).to_string();
    let other = hutch_registry::Sha256::of(b"other").to_string();
    for (part, body, what) in [("/manifests/1", made.manifest(), "manifest"), (&layer, made.layer(), "component")] {
        says(part, body, &other);
        let error = pull(&repository, &reference).unwrap_err();
        assert!(
            matches!(&error, RegistryError::Artifact(ArtifactError::Digest { what: found, announced, .. })
                if *found == what && *announced == other),
            "{error}"
        );
        // What it can't be held against says nothing.
        says(part, body, "sha512:00");
        pull(&repository, &reference).unwrap();
    }
}

#[test]
fn a_part_that_is_lost_is_named_and_is_no_package_that_never_was() {
    let (double, repository, reference) = stocked();
    let layer = hutch_registry::Sha256::of(artifact().layer()).to_string();
    let wanted = layer.clone();
    double.instead(move |asked| asked.target.ends_with(&wanted).then(|| Answered::new(404, "")));
    let error = pull(&repository, &reference).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ArtifactInvalid, "{error}");
    assert!(error.to_string().contains(&layer), "{error}");
}
