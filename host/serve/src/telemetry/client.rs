//! The client that sends to a collector: blocking, with an end to everything.

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::HttpError;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long sending may take in all.
const SENT_WITHIN: Duration = Duration::from_secs(10);
/// The most bytes of an answer; it says little.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug)]
pub(super) struct Client(Agent);

impl Client {
    pub(super) fn new() -> Client {
        let machine = rustls_native_certs::load_native_certs().certs;
        let known: Vec<Certificate<'static>> =
            machine.iter().map(|der| Certificate::from_der(der.as_ref()).to_owned()).collect();
        // A machine without any list of authorities, as a small container.
        let roots = if known.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&known) };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(concat!("hutch/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(SENT_WITHIN))
            .build()
            .new_agent();
        Client(agent)
    }

    pub(super) fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let answer = self.0.run(Request::from_parts(parts, body.as_ref()))?;
        let (parts, mut body) = answer.into_parts();
        let body = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        Ok(Response::from_parts(parts, body.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// What a collector's answer of so many bytes comes to.
    fn answered(bytes: usize) -> Result<usize, String> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let collector = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            let said = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\nconnection: close\r\n\r\n");
            client.write_all(said.as_bytes()).unwrap();
            // Whoever has read enough is gone.
            let _ = client.write_all(&vec![b' '; bytes]);
        });
        let client = Client::new();
        let request = Request::get(format!("http://{address}/v1/traces")).body(Bytes::new()).unwrap();
        let answer = client.send(request).map(|answer| answer.into_body().len()).map_err(|error| error.to_string());
        collector.join().unwrap();
        answer
    }

    #[test]
    fn an_answer_is_read_no_further_than_it_says_much() {
        let most = usize::try_from(ANSWER_BYTES_MAX).unwrap();
        assert_eq!(answered(most - 1), Ok(most - 1));
        answered(most + 1).unwrap_err();
    }
}
