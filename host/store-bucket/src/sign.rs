//! How requests are signed: AWS Signature Version 4, with the digest of what is sent. Pure.
//!
//! What is signed is what is sent: the condition of a put too, so that nobody between can take it away.

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use ring::hmac;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// One request.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Of which no character needs an escape.
    pub(crate) path: &'a str,
    /// Names and values, in the order of the names.
    pub(crate) query: &'a [(&'a str, &'a str)],
    /// Names in lower case and values; `host` is among them, and what signing adds is not.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    /// The SHA-256 digest of what is sent.
    pub(crate) content: &'a [u8],
}

/// Who signs, when and for where.
pub(crate) struct Signer<'a> {
    pub(crate) id: &'a str,
    pub(crate) secret: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) region: &'a str,
    /// As `20130524T000000Z`.
    pub(crate) time: &'a str,
}

/// What goes with a request besides.
pub(crate) type Headers = Vec<(&'static str, String)>;

impl Signer<'_> {
    /// The headers that prove who sent the request.
    pub(crate) fn sign(&self, request: &Request<'_>) -> Headers {
        let content = hex(request.content);
        let mut added: Headers = vec![("x-amz-content-sha256", content.clone()), ("x-amz-date", self.time.to_owned())];
        added.extend(self.token.map(|token| ("x-amz-security-token", token.to_owned())));
        let mut headers: Vec<(&str, &str)> = request.headers.to_vec();
        headers.extend(added.iter().map(|(name, value)| (*name, value.as_str())));
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
        let canonical = [request.method, request.path, &query_text(request.query), &lines, &names, &content].join("\n");
        let day = self.time.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = [ALGORITHM, self.time, &scope, &hex(digest(&SHA256, canonical.as_bytes()).as_ref())].join("\n");
        let mut key = keyed(format!("AWS4{}", self.secret).as_bytes(), day);
        for part in [self.region, "s3", "aws4_request"] {
            key = keyed(key.as_ref(), part);
        }
        let signature = hex(keyed(key.as_ref(), &text).as_ref());
        let credential = format!("{}/{scope}", self.id);
        let proof = format!("{ALGORITHM} Credential={credential},SignedHeaders={names},Signature={signature}");
        added.push(("authorization", proof));
        added
    }
}

/// A query as it is sent and signed.
pub(crate) fn query_text(query: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    pairs.join("&")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(char::from(byte)),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn keyed(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of "Signature Calculations for the Authorization Header" in the manual of S3.
    #[test]
    fn signatures_are_those_of_the_manual() {
        let signer = Signer {
            id: "AKIAIOSFODNN7EXAMPLE",
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            token: None,
            region: "us-east-1",
            time: "20130524T000000Z",
        };
        let host = ("host", "examplebucket.s3.amazonaws.com");
        let get = ("GET", "/test.txt", &[][..], vec![host, ("range", "bytes=0-9")], &b""[..]);
        let date = ("date", "Fri, 24 May 2013 00:00:00 GMT");
        let class = ("x-amz-storage-class", "REDUCED_REDUNDANCY");
        let put = ("PUT", "/test%24file.text", &[][..], vec![date, host, class], &b"Welcome to Amazon S3."[..]);
        let query = &[("max-keys", "2"), ("prefix", "J")][..];
        let list = ("GET", "/", query, vec![host], &b""[..]);
        for ((method, path, query, headers, body), expected) in [
            (get, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            (put, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            (list, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ] {
            let content = digest(&SHA256, body);
            let signed = signer.sign(&Request { method, path, query, headers: &headers, content: content.as_ref() });
            let (_, proof) = signed.iter().find(|(name, _)| *name == "authorization").unwrap();
            assert_eq!(proof.rsplit_once("Signature=").unwrap().1, expected, "{method} {path}");
        }
    }

    /// A condition, a token, the time and what is sent are all under the signature.
    #[test]
    fn everything_that_matters_is_signed() {
        let sign = |token, time, condition, body: &[u8]| {
            let signer = Signer { id: "id", secret: "geheim", token, region: "r", time };
            let headers = [("host", "h"), ("if-none-match", condition)];
            let content = digest(&SHA256, body);
            let request =
                Request { method: "PUT", path: "/b/k", query: &[], headers: &headers, content: content.as_ref() };
            let signed = signer.sign(&request);
            assert!(!format!("{signed:?}").contains("geheim"));
            signed.into_iter().find(|(name, _)| *name == "authorization").unwrap().1
        };
        let first = sign(None, "20260101T000000Z", "*", b"x");
        for other in [
            sign(Some("t"), "20260101T000000Z", "*", b"x"),
            sign(None, "20260101T000001Z", "*", b"x"),
            sign(None, "20260101T000000Z", "", b"x"),
            sign(None, "20260101T000000Z", "*", b"y"),
        ] {
            assert_ne!(other, first);
        }
        assert!(first.contains("SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date,"), "{first}");
    }
}
