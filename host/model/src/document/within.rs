//! JSON that is written so far and no further: what it comes to is not known before, as a value of many small ones in lists in lists has a
//! hundred times its bytes when it is indented.

use serde::Serialize;
use std::io::{self, Write};

/// What is written, up to so many bytes.
struct Within {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Write for Within {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let left = self.bytes_max.saturating_sub(self.bytes.len());
        let taken = more.get(..left).unwrap_or(more);
        self.bytes.extend_from_slice(taken);
        // Who writes nothing of what is left ends the writing.
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first bytes of a value's JSON, compact or indented, up to so many and without part of a character; and whether they are all of it.
///
/// # Errors
/// It is no JSON.
pub fn json_within(
    value: &impl Serialize,
    bytes_max: usize,
    is_indented: bool,
) -> Result<(String, bool), serde_json::Error> {
    let mut within = Within { bytes: Vec::new(), bytes_max };
    let written = match is_indented {
        true => serde_json::to_writer_pretty(&mut within, value),
        false => serde_json::to_writer(&mut within, value),
    };
    let is_whole = match written {
        Err(error) if error.is_io() => false,
        written => written.map(|()| true)?,
    };
    let mut bytes = within.bytes;
    if let Err(cut) = str::from_utf8(&bytes) {
        bytes.truncate(cut.valid_up_to());
    }
    Ok((String::from_utf8(bytes).unwrap_or_default(), is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn json_is_written_up_to_so_many_bytes() {
        let value = json!({"a": ["x\u{0}", 1.5, "\u{20ac}"]});
        for (is_indented, whole) in
            [(false, value.to_string()), (true, serde_json::to_string_pretty(&value).unwrap_or_default())]
        {
            for max in 0..whole.len() + 2 {
                let (text, is_whole) = json_within(&value, max, is_indented).unwrap();
                assert!(whole.starts_with(&text) && text.len() <= max && is_whole == (text == whole), "{max}: {text}");
                assert!(is_whole || text.len() + 3 > max, "only part of a character is left out: {max}: {text}");
            }
        }
    }

    /// All of it would have two hundred million bytes.
    #[test]
    fn what_is_indented_far_is_not_written_to_its_end() {
        let value = (0..100).fold(Value::from(vec![0_u8; 1_000_000]), |value, _| Value::from(vec![value]));
        let (text, is_whole) = json_within(&value, 1000, true).unwrap();
        assert_eq!((text.len(), is_whole), (1000, false));
    }
}
