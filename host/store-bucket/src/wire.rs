//! What goes between a process that uses a bucket and the one that reaches it: a question and its answer, each with its length before it. Behind the
//! rings a process makes no sockets and starts no other, but reads and writes what it had open; so who needs a bucket there starts this one
//! before, which has the sockets and the credentials, and ends when nobody asks any more.

use crate::client::{Client, Placed, Trouble};
use crate::frame;
use crate::listing::Listed;
use crate::objects::is_sound;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// The longest message: the longest object and what stands around it.
const MESSAGE_BYTES_MAX: u64 = crate::client::OBJECT_BYTES_MAX + (1 << 20);

/// What is asked.
#[derive(Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Objects.
    Get(Vec<String>),
    /// How long they are, if they are there.
    Lengths(Vec<String>),
    /// Put these there.
    Put(Vec<(String, Vec<u8>)>),
    /// Put this one there if there is none.
    PutNew(String, Vec<u8>),
    /// One page of the objects whose names begin so, and where it begins if it is not the first.
    List(String, Option<String>),
    /// Take it away.
    Delete(String),
}

/// What is answered.
#[derive(Serialize, Deserialize)]
pub(crate) enum Told {
    Got(Vec<Option<Vec<u8>>>),
    Lengths(Vec<Option<u64>>),
    Done,
    Placed(Placed),
    Listed(Vec<Listed>, Option<String>),
}

/// Whether a name stays within the folder that is a store's, whoever made it.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    name.bytes().all(fits) && name.split('/').all(|part| part != "." && part != "..")
}

/// Whether putting this in place of what is there changes nothing that was written: an object under its digest, or where to look for an entry.
fn changes_nothing(name: &str, bytes: &[u8]) -> bool {
    let own = name.strip_prefix("data/").and_then(|rest| rest.splitn(3, '/').nth(2));
    own.is_some_and(|own| match frame::object_named(own) {
        Some((kind, digest)) => is_sound(kind, &digest, bytes),
        None => own == "head" || (own.starts_with("h/") && bytes.is_empty()),
    })
}

/// Whether this may be asked for. Who asks may have been taken over by what it runs: it can read and add, and change nothing that was written.
fn is_allowed(ask: &Ask) -> bool {
    match ask {
        Ask::Get(names) | Ask::Lengths(names) => names.iter().all(|name| is_name(name)),
        Ask::Put(all) => all.iter().all(|(name, bytes)| is_name(name) && changes_nothing(name, bytes)),
        Ask::PutNew(name, _) | Ask::List(name, _) => is_name(name),
        Ask::Delete(name) => is_name(name) && name.starts_with(frame::PROOFS),
    }
}

/// Answers one question.
pub(crate) fn answer(client: &Client, ask: &Ask) -> Result<Told, Trouble> {
    if !is_allowed(ask) {
        return Err(Trouble::Refused("that is never asked for".to_owned()));
    }
    Ok(match ask {
        Ask::Get(keys) => Told::Got(client.abreast(keys, |key| client.get(key))?),
        Ask::Lengths(keys) => Told::Lengths(client.abreast(keys, |key| client.length(key))?),
        Ask::Put(all) => {
            client.abreast(all, |(key, bytes)| client.put(key, bytes))?;
            Told::Done
        }
        Ask::PutNew(key, bytes) => Told::Placed(client.put_new(key, bytes)?),
        Ask::List(prefix, next) => {
            let page = client.list(prefix, next.as_deref())?;
            Told::Listed(page.listed, page.next)
        }
        Ask::Delete(key) => {
            client.delete(key)?;
            Told::Done
        }
    })
}

/// Answers until nobody asks any more. `opened` is what there is to ask, or why there is nothing: that is told first.
///
/// # Errors
/// What carries the messages fails, or holds none.
pub fn serve(
    opened: Result<(crate::Address, crate::Opening), String>,
    mut input: impl Read,
    mut output: impl Write,
) -> io::Result<()> {
    let client = match opened {
        Ok((address, opening)) => {
            send(&mut output, &Ok::<String, String>(address.shown()))?;
            Client::new(address, opening)
        }
        Err(reason) => return send(&mut output, &Err::<String, String>(reason)),
    };
    while let Some(ask) = receive::<Ask>(&mut input)? {
        send(&mut output, &answer(&client, &ask))?;
    }
    Ok(())
}

pub(crate) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_allocvec(message).map_err(io::Error::other)?;
    output.write_all(&(bytes.len() as u64).to_le_bytes())?;
    output.write_all(&bytes)?;
    output.flush()
}

/// The next message; none at the end.
pub(crate) fn receive<M: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 8];
    if let Err(error) = input.read_exact(&mut length) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let length = u64::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than any"));
    }
    let mut bytes = Vec::new();
    if input.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::{Digest, Kind};

    #[test]
    fn messages_come_back_and_what_is_cut_is_none() {
        let mut sent = Vec::new();
        send(&mut sent, &Ask::PutNew("k".to_owned(), vec![7; 300])).unwrap();
        send(&mut sent, &Ask::Delete("k".to_owned())).unwrap();
        let mut input = &sent[..];
        assert!(
            matches!(receive::<Ask>(&mut input), Ok(Some(Ask::PutNew(key, bytes))) if key == "k" && bytes == [7; 300])
        );
        assert!(matches!(receive::<Ask>(&mut input), Ok(Some(Ask::Delete(key))) if key == "k"));
        assert!(matches!(receive::<Ask>(&mut input), Ok(None)));
        for cut in 9..300 {
            assert!(receive::<Ask>(&mut &sent[..cut]).is_err(), "{cut}");
        }
        assert!(receive::<Ask>(&mut &[0xff; 20][..]).is_err());
    }

    /// Whoever asks, what was written stays as it is, and nothing else of the bucket is reached.
    #[test]
    fn nothing_that_was_written_can_be_changed() {
        let digest = Digest::of(Kind::Chunk, b"x");
        let object = |kind: &str| format!("data/todo/default/o/{kind}/{digest}");
        let put = |name: &str, bytes: &[u8]| is_allowed(&Ask::Put(vec![(name.to_owned(), bytes.to_vec())]));
        assert!(put(&object("chunk"), b"x") && put("data/todo/default/head", b"any") && put("data/a/b/h/1/2", b""));
        for (name, bytes) in [
            (object("chunk"), &b"y"[..]),
            (object("tree"), b"x"),
            ("data/todo/default/e/00000000000000000001".to_owned(), b"x"),
            ("data/todo/default/h/1/2".to_owned(), b"x"),
            ("data/todo/head".to_owned(), b""),
            ("instances/todo/default".to_owned(), b""),
            ("proofs/1".to_owned(), b""),
            ("data/a/../b/head".to_owned(), b""),
        ] {
            assert!(!put(&name, bytes), "{name}");
        }
        let delete = |name: &str| is_allowed(&Ask::Delete(name.to_owned()));
        assert!(delete("proofs/1") && !delete("proofs/../data/a/b/head") && !delete("data/a/b/head"));
        for name in ["../other", "a/../b", "a?x", "a b", "a%2f"] {
            assert!(
                !is_allowed(&Ask::Get(vec![name.to_owned()])) && !is_allowed(&Ask::PutNew(name.to_owned(), vec![]))
            );
        }
    }

    #[test]
    fn who_has_nothing_to_serve_says_why_and_ends() {
        let mut output = Vec::new();
        serve(Err("no key".to_owned()), io::empty(), &mut output).unwrap();
        assert_eq!(receive::<Result<String, String>>(&mut &output[..]).unwrap(), Some(Err("no key".to_owned())));
    }
}
