//! The link that signs in whoever starts a server: a code that is good once and for a short time, and the session for which it is
//! exchanged, that a browser keeps as a cookie. There is one of either, known by its digest alone, and neither is a token. Reads no clock
//! and takes no randomness of its own.

use crate::who::Principal;
use data_encoding::HEXLOWER;
use http::HeaderMap;
use http::header::COOKIE;
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;

/// How long the code is good.
const GOOD_FOR_NS: u64 = 5 * 60 * 1_000_000_000;

/// The link of one server.
pub(super) struct Link {
    /// Whom it signs in.
    principal: Principal,
    /// The name of the cookie: a browser gives the cookies of all servers of a machine to each of them.
    cookie: String,
    /// What a browser is to know of the cookie.
    attributes: &'static str,
    state: Mutex<State>,
}

enum State {
    /// The code is good until then.
    Open(Digest, Instant),
    /// It was exchanged for this session.
    Used(Digest),
    /// The session is over.
    Ended,
}

impl Link {
    /// A link and its code, for a server that listens on this port.
    pub(super) fn begin(principal: Principal, port: u16, is_tls: bool, code: &Seed, now: Instant) -> (Link, String) {
        let code = HEXLOWER.encode(&code.0);
        let until = Instant::from_unix_ns(now.unix_ns().saturating_add(GOOD_FOR_NS));
        let link = Link {
            principal,
            cookie: format!("hutch-{port}"),
            attributes: match is_tls {
                true => "Path=/; HttpOnly; SameSite=Strict; Secure",
                false => "Path=/; HttpOnly; SameSite=Strict",
            },
            state: Mutex::new(State::Open(digest(&code), until)),
        };
        (link, code)
    }

    /// Exchanges the code for this session: the cookie that a browser is to keep. The code is good for nothing from here on.
    pub(super) fn exchange(&self, code: &str, session: &Seed, now: Instant) -> Option<String> {
        let mut state = self.state();
        let State::Open(known, until) = &*state else { return None };
        if !is_equal(known, code) || now > *until {
            return None;
        }
        let session = HEXLOWER.encode(&session.0);
        *state = State::Used(digest(&session));
        Some(format!("{}={session}; {}", self.cookie, self.attributes))
    }

    /// Whom a browser is signed in as.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<&Principal> {
        let state = self.state();
        let State::Used(known) = &*state else { return None };
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let cookies = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let mut sessions = cookies.filter(|(name, _)| *name == self.cookie);
        sessions.any(|(_, session)| is_equal(known, session)).then_some(&self.principal)
    }

    /// Ends the session, if this is its browser: the cookie that has it forget its own.
    pub(super) fn end(&self, headers: &HeaderMap) -> Option<String> {
        self.session(headers)?;
        *self.state() = State::Ended;
        Some(format!("{}=; Max-Age=0; {}", self.cookie, self.attributes))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(secret: &str) -> Digest {
    Digest::of(Kind::Stream, secret.as_bytes())
}

/// Comparing takes as long for every secret.
fn is_equal(known: &Digest, secret: &str) -> bool {
    known.as_bytes().ct_eq(digest(secret).as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::Scope;
    use http::HeaderValue;

    const NOW: Instant = Instant::from_unix_ns(1_000_000_000);
    const LAST: Instant = Instant::from_unix_ns(1_000_000_000 + GOOD_FOR_NS);

    fn link() -> (Link, String) {
        Link::begin(Principal::admitted("ada", &[Scope::Read]), 8645, false, &Seed([0xa7; 32]), NOW)
    }

    fn is_known(link: &Link, cookies: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        link.session(&headers).is_some_and(|principal| &**principal.name() == "ada")
    }

    #[test]
    fn a_code_is_good_once_and_for_a_short_time() {
        let (link, code) = link();
        let late = Instant::from_unix_ns(LAST.unix_ns() + 1);
        for (wrong, now) in [("", NOW), (&code[1..], NOW), (&code.to_uppercase(), NOW), (&code, late)] {
            assert_eq!(link.exchange(wrong, &Seed([8; 32]), now), None, "{wrong}");
        }
        let cookie = link.exchange(&code, &Seed([8; 32]), LAST).unwrap();
        let session = "08".repeat(32);
        assert_eq!(cookie, format!("hutch-8645={session}; Path=/; HttpOnly; SameSite=Strict"));
        for again in [code, session] {
            assert_eq!(link.exchange(&again, &Seed([9; 32]), NOW), None, "{again}");
        }
    }

    #[test]
    fn who_signs_out_is_nobody_and_nobody_else_can_do_it() {
        let (link, code) = link();
        let of = |cookie: &str| HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())]);
        let known = format!("hutch-8645={}", "08".repeat(32));
        assert_eq!(link.end(&of(&known)), None);
        link.exchange(&code, &Seed([8; 32]), NOW).unwrap();
        assert_eq!(link.end(&of(&format!("hutch-8645={code}"))), None);
        assert!(is_known(&link, &[&known]));
        let forgotten = link.end(&of(&known)).unwrap();
        assert_eq!(forgotten, "hutch-8645=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
        assert!(!is_known(&link, &[&known]));
        assert_eq!((link.end(&of(&known)), link.exchange(&code, &Seed([9; 32]), NOW)), (None, None));
    }

    #[test]
    fn only_the_cookie_of_the_session_is_somebody() {
        let (link, code) = link();
        let known = format!("hutch-8645={}", "08".repeat(32));
        assert!(!is_known(&link, &[&known]) && !is_known(&link, &[&format!("hutch-8645={code}")]));
        link.exchange(&code, &Seed([8; 32]), NOW).unwrap();
        for cookies in [
            &[known.as_str()][..],
            &[&format!("other=1; {known}")],
            &[&format!("hutch-8645=forged; {known};x")],
            &["hutch-8645=forged", &known],
        ] {
            assert!(is_known(&link, cookies), "{cookies:?}");
        }
        for cookies in [
            &[][..],
            &["hutch-8645="],
            &["hutch-8645"],
            &[&known[..known.len() - 1]],
            &[&format!("{known}0")],
            &[&known.replace("8645", "8646")],
            &[&known.replace("hutch-8645=", "")],
            &[&format!("hutch-8645={code}")],
        ] {
            assert!(!is_known(&link, cookies), "{cookies:?}");
        }
    }
}
