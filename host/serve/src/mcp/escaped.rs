//! What goes to clients, with hidden characters as JSON's escapes: a model or a person that gets a message as it was sent sees what
//! stands in it, and whoever parses it gets equal values.

use hutch_model::document;

/// The characters of a stream of JSON, escaped piece by piece.
#[derive(Default)]
pub(super) struct Escaper {
    /// The beginning of a character whose end has not come yet: 3 bytes at most.
    begun: Vec<u8>,
}

impl Escaper {
    /// What goes out for these bytes.
    pub(super) fn piece(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.begun);
        whole.extend_from_slice(bytes);
        match std::str::from_utf8(&whole) {
            Ok(text) => document::written(text).into_owned().into_bytes(),
            // JSON is UTF-8: what is no character yet becomes one with the next piece.
            Err(error) if error.error_len().is_none() => {
                let (valid, begun) = whole.split_at(error.valid_up_to());
                self.begun = begun.to_vec();
                document::written(&String::from_utf8_lossy(valid)).into_owned().into_bytes()
            }
            Err(_) => whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wherever_a_stream_is_cut_it_is_escaped_and_means_the_same() {
        let value = serde_json::json!({"a\u{200b}": "x\u{e0041}日本\u{202e}", "b": [1, "\u{2063}"]});
        let sent = value.to_string().into_bytes();
        for size in 1..sent.len() {
            let mut escaper = Escaper::default();
            let got: Vec<u8> = sent.chunks(size).flat_map(|piece| escaper.piece(piece)).collect();
            let got = String::from_utf8(got).unwrap();
            assert_eq!(hutch_model::hidden::hidden(&got).next(), None, "{size}: {got}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&got).unwrap(), value, "{size}");
        }
    }
}
