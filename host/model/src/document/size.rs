//! How large a JSON document is in memory, before it is there: a byte of it can take more than a hundred.

use super::NameBytes;
use super::number::{FIELD, Floats, is_held};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// What a document will take when it is read, found out by reading it and keeping nothing: it is read as a document would be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DocumentSize {
    /// How many values it has, names of fields among them.
    pub values: u64,
    /// How much memory they take at most, as this program reads documents.
    pub memory_bytes: u64,
}

impl DocumentSize {
    /// A value, in whatever holds it, which may have grown to twice what it needs.
    const VALUE_BYTES: u64 = 2 * size_of::<Value>() as u64;
    /// A list of one value, which has room for several.
    const LIST_BYTES: u64 = 4 * size_of::<Value>() as u64;
    /// A node of a map, with room for several fields; one for every few of them.
    const NODE_BYTES: u64 = 768;
    const NODE_FIELDS: u64 = 5;
    /// A text beside its bytes.
    const TEXT_BYTES: u64 = 32;

    /// Measures a document.
    ///
    /// # Errors
    /// It is not one JSON document.
    pub fn of(document: &[u8]) -> Result<DocumentSize, serde_json::Error> {
        let mut reading = serde_json::Deserializer::from_slice(document);
        let size = DocumentSize::read(&mut reading, document)?;
        reading.end().map(|()| size)
    }

    /// `document` is what is read, where numbers are to be kept by their digits.
    fn read<'de, D: Deserializer<'de>>(reading: D, document: &[u8]) -> Result<DocumentSize, D::Error> {
        let mut reader = Reader(DocumentSize::default(), Floats(document));
        reader.deserialize(reading)?;
        Ok(reader.0)
    }

    fn add(&mut self, bytes: u64) {
        self.values += 1;
        self.memory_bytes += DocumentSize::VALUE_BYTES + bytes;
    }
}

impl<'de> Deserialize<'de> for DocumentSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DocumentSize, D::Error> {
        DocumentSize::read(deserializer, b"")
    }
}

/// Reads a document and adds what it finds; the numbers that are still to come stand beside it.
struct Reader<'t>(DocumentSize, Floats<'t>);

impl<'de> DeserializeSeed<'de> for &mut Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.0.add(0);
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        // By its digits it is an object.
        let digits = self.1.next().filter(|written| !is_held(written));
        let bytes = digits.map(|written| FIELD.len() + written.len()).map(|texts| texts as u64);
        self.0.add(bytes.map_or(0, |texts| DocumentSize::NODE_BYTES + 2 * DocumentSize::TEXT_BYTES + texts));
        Ok(())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.0.add(DocumentSize::TEXT_BYTES + text.len() as u64);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.add(0);
        if items.next_element_seed(&mut *self)?.is_some() {
            self.0.memory_bytes += DocumentSize::LIST_BYTES;
            while items.next_element_seed(&mut *self)?.is_some() {}
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        self.0.add(0);
        let mut count = 0;
        // A name is counted as a text is, and is none where it is none to who reads the document.
        while let Some(NameBytes(bytes)) = fields.next_key()? {
            self.0.add(DocumentSize::TEXT_BYTES + bytes as u64);
            if count % DocumentSize::NODE_FIELDS == 0 {
                self.0.memory_bytes += DocumentSize::NODE_BYTES;
            }
            count += 1;
            fields.next_value_seed(&mut *self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_no_less_than_what_it_takes() {
        let size = DocumentSize::of(br#"{"a":[1,"two",{"b":null}]}"#).unwrap();
        assert_eq!(size.values, 8);
        assert!(size.memory_bytes > 2 * DocumentSize::NODE_BYTES + 8 * DocumentSize::VALUE_BYTES);
        let reserved = br#"{"$serde_json::private::RawValue":"[1]"}"#;
        for broken in [&b""[..], b"1 2", b"{", b"\xff", &reserved[..]] {
            assert!(DocumentSize::of(broken).is_err(), "{broken:?}");
        }
    }
}
