//! A registry that answers as an input says. Whatever is answered, a call comes to an end; who a person is learns the registry alone, or
//! the domain that it belongs to, and no message tells it; what is pushed goes to nobody else; what comes of a call is bounded, and is
//! what its digest names.
//!
//! Every call goes through a proxy, which is this program: so it is known where each leads, and no name is ever asked for elsewhere.
//!
//! The first byte says what is called and by whom; answers follow, with a byte 0x1e between them. One that is no HTTP is a body, and is
//! sent with a head. In an answer `{R}` stands for the registry, `{O}` for another host, `{D}` for the domain; `{S1}` and `{L1}` for digest
//! and length of the body of the first answer behind it, and so on to 9.
#![no_main]

use data_encoding::BASE64;
use hutch::package::{PackWriter, Package, PackageBounds, Source};
use hutch_fuzz::within;
use hutch_model::names::PackagePath;
use hutch_registry::{
    Artifact, BUNDLE_BYTES_MAX, CredentialFile, Reference, RegistryError, Remote, Repository, Sha256, Surroundings,
};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const USER: &str = "person";
const PASSWORD: &str = "the-word-of-the-person";
const IDENTITY: &str = "the-identity-of-the-person";
/// What is in a package that is pushed, and in nothing else.
const PUSHED: &str = "a text that is pushed";
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The most calls of anything that is done here, however it is answered.
const CALLS_MAX: usize = 200;
/// How what is encrypted begins.
const TLS: u8 = 0x16;
const SEPARATOR: u8 = 0x1e;

/// The registry, the domain that it belongs to, and a host that has nothing to do with it.
const REGISTRY: &str = "registry.acme.example";
const DOMAIN: &str = "acme.example";
const OTHER: &str = "other.example";

/// A request, as it came.
struct Asked {
    /// Host and port that it was for, in lower case.
    to: String,
    head: String,
    body: Vec<u8>,
}

#[derive(Default)]
struct Script {
    answers: VecDeque<Vec<u8>>,
    asked: Vec<Asked>,
}

static SCRIPT: Mutex<Script> = Mutex::new(Script { answers: VecDeque::new(), asked: Vec::new() });
static PROXY: LazyLock<String> = LazyLock::new(serve);

static ARTIFACT: LazyLock<Artifact> = LazyLock::new(|| {
    let app = format!(
        "---\nschema: agentapplications/v1\nkind: app\nslug: a\nname: A\ndescription: b\nversion: 0.1.0\nentry:\n  \
         command: wasm:a.wasm\ncommands: [c]\nskills: [s]\n---\n{PUSHED}\n"
    );
    let skill = b"---\nname: s\ndescription: d\n---\n";
    let mut pack = PackWriter::new(Vec::new());
    for (path, content) in [
        ("APP.md", Some(app.as_bytes())),
        ("app", None),
        ("app/a.wasm", Some(b"\0asm\x0d\0\x01\0".as_slice())),
        ("skills", None),
        ("skills/s", None),
        ("skills/s/SKILL.md", Some(skill.as_slice())),
    ] {
        let path = PackagePath::parse(path).unwrap_or_else(|error| panic!("{error}"));
        pack.add(&path, content).unwrap_or_else(|error| panic!("{error}"));
    }
    let packed = pack.finish().unwrap_or_else(|error| panic!("{error}"));
    let bounds = PackageBounds::default();
    let package = Source::packed_in_memory(packed, &bounds).and_then(|source| Package::open(&source, bounds));
    let package = package.unwrap_or_else(|error| panic!("{error:?}"));
    Artifact::of(&package).unwrap_or_else(|error| panic!("{error}"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&PROXY);
    LazyLock::force(&ARTIFACT);
    let Some((first, rest)) = bytes.split_first() else { return };
    *script() = Script { answers: answers(rest), asked: Vec::new() };
    // A connection has buffers, and what is read is held to what a document may have.
    within((8 << 20) + 600 * bytes.len(), || {
        let called = call(first & 7, &repository(first >> 3));
        check(first & 7, first >> 3, called.err());
    });
});

fn script() -> MutexGuard<'static, Script> {
    SCRIPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leads every call to the answers, one call a connection.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
    let here = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some((connect, _)) = request(&mut stream) else { continue };
            let to = connect.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
            let Some(to) = to.map(str::to_ascii_lowercase) else { panic!("{connect:?} is not for the proxy") };
            let led = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok();
            // Who wants TLS first says no more.
            let Some((head, body)) = Some(led).filter(|led| *led).and_then(|_| request(&mut stream)) else { continue };
            let mut script = script();
            script.asked.push(Asked { to, head, body });
            let answer = script.answers.pop_front();
            drop(script);
            let _ = stream.write_all(&answer.unwrap_or_default());
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    here.to_string()
}

/// A request in the clear.
fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut read, mut part) = (Vec::new(), [0; 4096]);
    let end = loop {
        let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
        read.extend_from_slice(part.get(..count)?);
        if read.first() == Some(&TLS) {
            return None;
        }
        match read.windows(4).position(|four| four == b"\r\n\r\n") {
            Some(end) => break end + 4,
            None if read.len() > HEAD_BYTES_MAX => return None,
            None => {}
        }
    };
    let mut body = read.split_off(end);
    let head = String::from_utf8_lossy(&read).to_ascii_lowercase();
    let length = field(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while body.len() < length {
        let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
        body.extend_from_slice(part.get(..count)?);
    }
    Some((String::from_utf8_lossy(&read).into_owned(), body))
}

fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// The answers of an input, the last first made: those before it may name it.
fn answers(input: &[u8]) -> VecDeque<Vec<u8>> {
    let mut made: VecDeque<Vec<u8>> = VecDeque::new();
    for answer in input.split(|byte| *byte == SEPARATOR).take(40).collect::<Vec<_>>().into_iter().rev() {
        let mut answer = answer.to_vec();
        for (place, host) in [("{R}", REGISTRY), ("{D}", DOMAIN), ("{O}", OTHER)] {
            answer = replaced(answer, place, host);
        }
        for (at, later) in made.iter().take(9).enumerate() {
            let body = body(later);
            answer = replaced(answer, &format!("{{S{}}}", at + 1), &Sha256::of(body).to_string());
            answer = replaced(answer, &format!("{{L{}}}", at + 1), &body.len().to_string());
        }
        if !answer.starts_with(b"HTTP/") {
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
            answer = [head.as_bytes(), &answer].concat();
        }
        made.push_front(answer);
    }
    made
}

fn body(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |end| end + 4);
    answer.get(end..).unwrap_or_default()
}

fn replaced(bytes: Vec<u8>, what: &str, with: &str) -> Vec<u8> {
    let what = what.as_bytes();
    let (mut made, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some(at) = rest.windows(what.len()).position(|part| part == what) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(with.as_bytes());
        rest = &rest[at + what.len()..];
    }
    made.extend_from_slice(rest);
    made
}

/// The repository, as somebody calls it: nobody, a person with a password or an identity, or one whom the other host alone knows.
fn repository(caller: u8) -> Repository {
    let auth = format!("{{\"auth\":\"{}\"}}", BASE64.encode(format!("{USER}:{PASSWORD}").as_bytes()));
    let text = match caller % 4 {
        0 => "{}".to_owned(),
        1 => format!("{{\"auths\":{{\"{}\":{auth}}}}}", REGISTRY),
        2 => format!("{{\"auths\":{{\"{}\":{{\"identitytoken\":\"{IDENTITY}\"}}}}}}", REGISTRY),
        _ => format!("{{\"auths\":{{\"{}\":{auth}}}}}", OTHER),
    };
    let surroundings = Surroundings {
        credentials: vec![CredentialFile { path: "f".to_owned(), text }],
        helper: Box::new(|_, _| Ok(None)),
        authorities: None,
        plain_http: Some(true),
        token_host: None,
        proxy: Some((format!("http://{}", *PROXY), String::new())),
        wait: Duration::from_secs(5),
        part_bytes: if caller & 4 == 0 { usize::MAX } else { 200 },
        pause: Duration::ZERO,
        sleep: Arc::new(|_| {}),
    };
    Repository::Remote(Remote::new(REGISTRY, "acme/todo", surroundings).unwrap_or_else(|error| panic!("{error}")))
}

fn call(what: u8, repository: &Repository) -> Result<(), RegistryError> {
    let named = |end: &str| -> Reference {
        let text = format!("oci://{REGISTRY}/acme/todo{end}");
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    let artifact = &*ARTIFACT;
    let pulled = |reference: &Reference| -> Result<(), RegistryError> {
        let head = repository.head(reference)?;
        assert!(reference.digest.is_none_or(|digest| digest == head.digest()), "another manifest");
        let (package, layer) = (head.package(), head.component());
        let texts = repository.texts(head)?;
        let packed = repository.packed(&texts)?;
        let bounds = PackageBounds::default();
        let found = Source::packed_in_memory(packed, &bounds).and_then(|source| source.digest(&bounds));
        assert!(found.is_ok_and(|found| found == package) && texts.head().component() == layer, "another package");
        Ok(())
    };
    match what {
        0 => {
            let tags = repository.tags()?;
            assert!(tags.is_sorted_by(|one, next| one < next), "{tags:?}");
            assert!(!tags.iter().any(|tag| tag.starts_with("sha256-")), "{tags:?}");
        }
        1 => pulled(&named(":1"))?,
        2 => pulled(&named("").with_digest(artifact.digest()))?,
        3 => {
            let bundles = repository.bundles(artifact.digest())?;
            assert!(bundles.len() <= 64 && bundles.iter().all(|bundle| bundle.len() as u64 <= BUNDLE_BYTES_MAX));
        }
        4 => drop(repository.attach(artifact.manifest(), PUSHED.as_bytes())?),
        5 => drop(repository.push(artifact, &named(":1"), true)?),
        _ => drop(repository.push(artifact, &named(":1"), false)?),
    }
    Ok(())
}

fn check(what: u8, caller: u8, failed: Option<RegistryError>) {
    let basic = BASE64.encode(format!("{USER}:{PASSWORD}").as_bytes());
    let secrets = [PASSWORD, IDENTITY, &basic];
    if let Some(error) = failed {
        let said = format!("{error} {error:?} {:?}", error.code());
        assert!(!secrets.iter().any(|secret| said.contains(secret)), "a message tells a secret");
    }
    let asked = std::mem::take(&mut script().asked);
    assert!(asked.len() <= CALLS_MAX, "{} calls", asked.len());
    for Asked { to, head, body } in &asked {
        let whole = format!("{head}{}", String::from_utf8_lossy(body));
        let (name, port) = to.rsplit_once(':').unwrap_or((to, ""));
        let is_registry = name == REGISTRY && port == "80";
        let is_trusted = is_registry || name == DOMAIN;
        let tells = secrets.iter().any(|secret| whole.contains(secret));
        assert!(is_trusted || !tells, "{to} is told a secret");
        assert!(is_trusted || field(head, "authorization").is_none(), "{to} is told who calls");
        assert!(matches!(caller % 4, 1 | 2) || !tells, "a secret for another host is told");
        let method = head.split(' ').next().unwrap_or_default();
        let is_form = field(head, "content-type") == Some("application/x-www-form-urlencoded");
        match what {
            0..=3 => assert!(matches!(method, "GET" | "HEAD") || (is_form && caller % 4 == 2), "{method} to read"),
            _ => assert!(is_registry || is_form || matches!(method, "GET" | "HEAD"), "{to} gets what is pushed"),
        }
        assert!(is_registry || !whole.contains(PUSHED), "{to} gets what is pushed");
    }
}
