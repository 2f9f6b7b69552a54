//! A PDF file: its pages, and another one made of some of them. Knows no command line.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::successors,
    mem::replace,
};

use hutch_guest::Failure;
use lopdf::{DecompressError, Document, Error, LoadOptions, Object, ObjectId, ParseError, Stream};
use lopdf::{decode_text_string, dictionary, xref::XrefRecovery};

/// Bytes that one packed part of a file may have.
const PART_BYTES_MAX: usize = 16 << 20;
/// Steps from a page to the top of its tree.
const DEPTH_MAX: usize = 256;
/// What a page may have from what is above it.
const INHERITED: [&str; 4] = ["Resources", "MediaBox", "CropBox", "Rotate"];

hutch_guest::codes! {
    pub(crate) PDF_INVALID = 2: "the file is no PDF, or a broken one", "give a PDF file that is whole; what other programs mend, they can write anew";
    pub(crate) PDF_ENCRYPTED = 2: "the file is encrypted, and none is decrypted", "have somebody who may do so write it without encryption";
    pub(crate) PDF_TOO_LARGE = 2: "the file has more packed in it than one call reads", "ask for fewer pages at a time, or give a smaller file";
}

/// A file whose pages are all there.
pub(crate) struct Pdf {
    pub(crate) document: Document,
    pub(crate) pages: Vec<ObjectId>,
}

pub(crate) fn told(error: Error) -> Failure {
    let code = match error {
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. } | DecompressError::TooManyFilters { .. }) => {
            return Failure::new(PDF_TOO_LARGE, "what is packed in it is larger than one call reads");
        }
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => PDF_ENCRYPTED,
        _ => PDF_INVALID,
    };
    Failure::new(code, format!("it cannot be read: {error}"))
}

impl Pdf {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Failure> {
        let options = LoadOptions { max_decompressed_size: Some(PART_BYTES_MAX), ..LoadOptions::default() };
        let start = String::from_utf8_lossy(bytes.get(..60).unwrap_or(bytes));
        let document = Document::load_mem_with_options(bytes, options).map_err(|error| match error {
            Error::Parse(ParseError::InvalidFileHeader) => {
                Failure::new(PDF_INVALID, format!("it begins with {start:?}, as no PDF does"))
            }
            error => told(error),
        })?;
        if document.was_encrypted() || document.trailer.has(b"Encrypt") {
            return Err(Failure::new(PDF_ENCRYPTED, "it is encrypted"));
        }
        let invalid = |why: &str| Err(Failure::new(PDF_INVALID, why));
        if document.xref_recovery == Some(XrefRecovery::Reconstructed) {
            return invalid("its table of contents is missing or broken, as of a file that was cut off");
        }
        let pages: Vec<_> = document.page_iter().collect();
        let top = document.catalog().and_then(|it| it.get_deref(b"Pages", &document)?.as_dict());
        let count = top.and_then(|it| it.get_deref(b"Count", &document)?.as_i64()).map_err(told)?;
        let different: BTreeSet<_> = pages.iter().collect();
        let whole = pages.iter().all(|page| document.get_dictionary(*page).is_ok());
        if pages.is_empty() || !whole || different.len() != pages.len() || usize::try_from(count) != Ok(pages.len()) {
            return invalid(&format!(
                "it says that it has {count} pages, and leads to {}, some twice or broken",
                pages.len()
            ));
        }
        Ok(Self { document, pages })
    }

    /// What a page has itself or from above.
    pub(crate) fn of_page(&self, page: usize, key: &[u8]) -> Option<&Object> {
        let first = self.document.get_dictionary(*self.pages.get(page)?).ok();
        let line = successors(first, |it| it.get_deref(b"Parent", &self.document).and_then(Object::as_dict).ok());
        line.take(DEPTH_MAX).find_map(|it| it.get_deref(key, &self.document).ok())
    }

    /// Width and height of what is seen of a page, in points, before it is turned.
    pub(crate) fn size(&self, page: usize) -> Vec<f64> {
        let corners = self.of_page(page, b"CropBox").or_else(|| self.of_page(page, b"MediaBox"));
        let corners = corners.and_then(|it| it.as_array().ok()).into_iter().flatten();
        let number = |it| self.document.dereference(it).and_then(|(_, it)| it.as_float());
        let numbers: Vec<_> = corners.map(|it| f64::from(number(it).unwrap_or_default())).collect();
        numbers.windows(3).map(|it| ((it[2] - it[0]).abs() * 100.0).round() / 100.0).collect()
    }

    /// What the file says about itself under this name.
    pub(crate) fn says(&self, name: &str) -> Option<String> {
        let about = self.document.get_dict_in_dict(&self.document.trailer, b"Info").ok()?;
        decode_text_string(about.get_deref(name.as_bytes(), &self.document).ok()?).ok()
    }

    /// Puts pages at the end of another document, with what they lead to but other pages.
    fn put(&self, pages: &[usize], to: &mut Document, kids: &mut Vec<ObjectId>) -> Result<(), Failure> {
        let (mut known, mut open) = (BTreeMap::new(), Vec::new());
        for page in pages {
            let (id, mut own) =
                (to.new_object_id(), self.document.get_dictionary(self.pages[*page]).map_err(told)?.clone());
            for key in INHERITED {
                if let Some(it) = self.of_page(*page, key.as_bytes()) {
                    own.set(key, it.clone());
                }
            }
            own.remove(b"Parent");
            known.entry(self.pages[*page]).or_insert(id);
            kids.push(id);
            open.push((id, Object::Dictionary(own)));
        }
        while let Some((id, mut object)) = open.pop() {
            let mut inside = vec![&mut object];
            while let Some(it) = inside.pop() {
                match it {
                    Object::Array(items) => inside.extend(items),
                    Object::Dictionary(it) | Object::Stream(Stream { dict: it, .. }) => {
                        inside.extend(it.iter_mut().map(|(_, it)| it));
                    }
                    Object::Reference(old) => match (known.get(old), self.document.get_object(*old)) {
                        (Some(new), _) => *old = *new,
                        (None, Ok(led)) if !matches!(led.type_name(), Ok(b"Page" | b"Pages" | b"Catalog")) => {
                            let new = to.new_object_id();
                            open.push((new, led.clone()));
                            known.insert(replace(old, new), new);
                        }
                        // What is not there is nothing, and so is a page that does not come along.
                        _ => *it = Object::Null,
                    },
                    _ => {}
                }
            }
            to.objects.insert(id, object);
        }
        Ok(())
    }
}

/// A file of pages of others, in this order. Nothing else of them comes along: neither what they say about themselves nor what leads to pages.
pub(crate) fn made(parts: &[(&Pdf, &[usize])]) -> Result<Vec<u8>, Failure> {
    let (mut to, mut kids, mut bytes) = (Document::with_version("1.7"), Vec::new(), Vec::new());
    let top = to.new_object_id();
    parts.iter().try_for_each(|(from, pages)| from.put(pages, &mut to, &mut kids))?;
    for kid in &kids {
        to.get_dictionary_mut(*kid).map_err(told)?.set("Parent", top);
    }
    let count = i64::try_from(kids.len()).unwrap_or(i64::MAX);
    let kids: Vec<_> = kids.into_iter().map(Object::Reference).collect();
    to.objects.insert(top, dictionary! { "Type" => "Pages", "Count" => count, "Kids" => kids }.into());
    let catalog = to.add_object(dictionary! { "Type" => "Catalog", "Pages" => top });
    to.trailer.set("Root", catalog);
    to.save_to(&mut bytes).map_err(|error| told(error.into()))?;
    Ok(bytes)
}
