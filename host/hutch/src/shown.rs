//! What a report shows of a stream that a guest wrote: all of it, or where it is long its beginning and its end. Runtimes say last what went
//! wrong, and first what they were about.

use serde_json::{Map, Value};

/// Bytes of the longest stream that is shown whole; of a longer one half of them are, at each end.
pub const SHOWN_BYTES_MAX: usize = 64 << 10;

/// A stream as it is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// Its text; in the place of what is left out a line says how much that is.
    pub text: String,
    /// Bytes that are not in the text.
    pub omitted_bytes: u64,
}

impl Shown {
    /// What is shown of a stream, if `most` of its bytes may be.
    pub fn of(stream: &[u8], most: usize) -> Shown {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if stream.len() <= most {
            return Shown { text: lossy(stream), omitted_bytes: 0 };
        }
        // No character is cut in two: what is left out begins and ends with one.
        let continues = |at: usize| stream.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
        let (half, last) = (most / 2, stream.len() - most / 2);
        let head_ends = (half.saturating_sub(3)..=half).rev().find(|at| !continues(*at)).unwrap_or(half);
        let tail_begins = (last..=stream.len().min(last + 3)).find(|at| !continues(*at)).unwrap_or(last);
        let [head, tail] = [stream.get(..head_ends), stream.get(tail_begins..)].map(Option::unwrap_or_default);
        let omitted = tail_begins - head_ends;
        let text = format!("{}\n[{omitted} bytes are not shown]\n{}", lossy(head), lossy(tail));
        Shown { text, omitted_bytes: omitted as u64 }
    }

    /// What a guest wrote, as fields: `stdout` and `stderr`, each with `…_bytes` and `…_omitted_bytes` if not all of it is shown.
    pub fn streams(stdout: &[u8], stderr: &[u8], most: usize) -> Map<String, Value> {
        let mut fields = Map::new();
        for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
            let Shown { text, omitted_bytes } = Shown::of(stream, most);
            fields.insert(name.to_owned(), text.into());
            if omitted_bytes > 0 {
                fields.insert(format!("{name}_bytes"), stream.len().into());
                fields.insert(format!("{name}_omitted_bytes"), omitted_bytes.into());
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_whole_and_of_the_rest_both_ends_are_there() {
        let whole = "x".repeat(SHOWN_BYTES_MAX);
        assert_eq!(Shown::of(whole.as_bytes(), SHOWN_BYTES_MAX), Shown { text: whole.clone(), omitted_bytes: 0 });
        let long = format!("first\n{whole}\nthe last line\n");
        let shown = Shown::of(long.as_bytes(), SHOWN_BYTES_MAX);
        assert!(shown.text.starts_with("first\nx") && shown.text.ends_with("x\nthe last line\n"), "{}", shown.text);
        assert_eq!(shown.omitted_bytes as usize, long.len() - SHOWN_BYTES_MAX);
        assert!(shown.text.contains(&format!("x\n[{} bytes are not shown]\nx", shown.omitted_bytes)));
        assert_eq!(Shown::of(b"", 0), Shown { text: String::new(), omitted_bytes: 0 });
        assert_eq!(Shown::of(b"ab", 0).omitted_bytes, 2);
    }

    #[test]
    fn no_character_is_cut_and_what_is_no_text_is_shown_all_the_same() {
        for text in ["é", "€", "🦀", "a🦀é€"] {
            let long = text.repeat(50);
            for most in 0..long.len() {
                let shown = Shown::of(long.as_bytes(), most);
                assert!(!shown.text.contains('\u{fffd}'), "{text} {most}: {}", shown.text);
                let marker = format!("\n[{} bytes are not shown]\n", shown.omitted_bytes);
                assert_eq!(shown.text.len() - marker.len() + shown.omitted_bytes as usize, long.len(), "{text} {most}");
                assert!(shown.text.len() - marker.len() <= most && most <= shown.text.len() - marker.len() + 7);
            }
        }
        for byte in [0x80, 0xff] {
            let shown = Shown::of(&[byte; 100], 50);
            assert_eq!(shown.text.matches('\u{fffd}').count() as u64 + shown.omitted_bytes, 100);
        }
    }

    #[test]
    fn a_number_stands_beside_a_stream_that_was_cut_and_beside_no_other() {
        let fields = Shown::streams(b"short", &[b'x'; 100], 60);
        let numbers = [&fields["stderr_bytes"], &fields["stderr_omitted_bytes"]];
        assert_eq!((numbers, fields.len()), ([&Value::from(100), &Value::from(40)], 4), "{fields:?}");
        assert_eq!(fields["stdout"], "short");
    }
}
