//! The application as its callers see it, on files that are made here, and on those that mean harm.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hutch_guest::testing::Harness;
use lopdf::{Document, Object, ObjectId, Stream, dictionary};
use serde_json::{Value, json};

use super::*;

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/pdf");

/// The application, where its folder is the current one and has a copy of what the package has.
fn application() -> Harness<Edits> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("hutch-pdf-{}", std::process::id()));
        fs::create_dir_all(folder.join("practice")).unwrap();
        for entry in fs::read_dir(Path::new(PACKAGE).join("practice")).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(&from, folder.join("practice").join(from.file_name().unwrap())).unwrap();
        }
        std::env::set_current_dir(&folder).unwrap();
        folder
    });
    Harness::new(&PDF)
}

/// A document with these contents of pages, in a tree of two floors whose top has what the pages have in common.
fn document(contents: &[&str]) -> (Document, Vec<ObjectId>) {
    let mut document = Document::with_version("1.5");
    let (top, floor) = (document.new_object_id(), document.new_object_id());
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier", "Encoding" => "WinAnsiEncoding",
        "FirstChar" => 32, "Widths" => vec![Object::Integer(600); 224],
    });
    let pages: Vec<ObjectId> = contents
        .iter()
        .map(|content| {
            let content = document.add_object(Stream::new(dictionary! {}, content.as_bytes().to_vec()));
            document.add_object(dictionary! { "Type" => "Page", "Parent" => floor, "Contents" => content })
        })
        .collect();
    let (kids, count) = (pages.iter().map(|page| Object::Reference(*page)).collect::<Vec<_>>(), contents.len() as i64);
    let floor_of = dictionary! { "Type" => "Pages", "Parent" => top, "Kids" => kids, "Count" => count };
    document.objects.insert(floor, floor_of.into());
    let top_of = dictionary! {
        "Type" => "Pages", "Kids" => vec![Object::Reference(floor)], "Count" => count,
        "MediaBox" => vec![0.into(), 0.into(), 420.into(), 595.into()],
        "Resources" => dictionary! { "Font" => dictionary! { "F1" => font } },
    };
    document.objects.insert(top, top_of.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => top });
    document.trailer.set("Root", catalog);
    (document, pages)
}

fn saved(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

/// A page with one line for each of these pages.
fn lines(texts: &[&str]) -> Vec<u8> {
    let contents: Vec<String> = texts.iter().map(|text| format!("BT /F1 10 Tf 50 500 Td ({text}) Tj ET")).collect();
    saved(document(&contents.iter().map(String::as_str).collect::<Vec<_>>()).0)
}

/// The text of the first page that has this content.
fn text(content: &str) -> String {
    text_of(&saved(document(&[content]).0)).unwrap()
}

fn text_of(bytes: &[u8]) -> Result<String, Failure> {
    let mut bytes_left = CONTENT_BYTES_MAX;
    text::of(&Pdf::read(bytes)?, 0, &mut bytes_left)
}

fn code(bytes: &[u8]) -> Option<&'static str> {
    text_of(bytes).err().map(|failure| failure.code.code)
}

/// What a call shows of the text of a file.
fn shown(application: &Harness<Edits>, path: &str) -> Vec<Value> {
    let answer = application.ok(&["text", path]);
    answer["items"].as_array().unwrap().iter().map(|it| it["text"].clone()).collect()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    application().contract(format!("{PACKAGE}/schemas/commands.json"));
}

#[test]
fn every_example_ends_as_it_says() {
    let application = application();
    application.examples();
    for (made, pages) in [("part", 2), ("page-1", 1), ("page-2", 1), ("page-3", 1), ("all", 4)] {
        let bytes = fs::read(format!("practice/{made}.pdf")).unwrap();
        assert_eq!(Pdf::read(&bytes).unwrap().pages.len(), pages, "{made}");
    }
    assert!(!Path::new("practice/turned.pdf").exists() && !Path::new("practice/more.pdf").exists());
}

#[test]
fn words_and_lines_end_where_the_next_letters_are_far_away() {
    // Of a Courier of 10 points each letter is 6 wide.
    for (content, expected) in [
        ("BT /F1 10 Tf 50 500 Td (one) Tj 18 0 Td (two) Tj ET", "onetwo"),
        ("BT /F1 10 Tf 50 500 Td (one) Tj 24 0 Td (two) Tj ET", "one two"),
        ("BT /F1 10 Tf 50 500 Td (one ) Tj 24 0 Td (two) Tj ET", "one two"),
        ("BT /F1 10 Tf 50 500 Td (one) Tj 0 -12 Td (two) Tj ET", "one\ntwo"),
        ("BT /F1 10 Tf 12 TL 50 500 Td (one) Tj T* (two) Tj (three) ' 0 0 (four) \" ET", "one\ntwo\nthree\nfour"),
        ("BT /F1 10 Tf 50 500 TD (one) Tj 0 -12 TD (two) Tj T* (three) Tj ET", "one\ntwo\nthree"),
        ("BT /F1 10 Tf 50 500 Td [(o) 20 (ne) -600 (two)] TJ ET", "one two"),
        ("BT /F1 10 Tf 1 0 0 1 50 500 Tm (one) Tj 1 0 0 1 68 500 Tm (two) Tj ET", "onetwo"),
        // Larger by the page's own measure, turned upside down, and turned by a quarter.
        ("3 0 0 -3 0 0 cm BT /F1 10 Tf 1 0 0 -1 50 50 Tm (one) Tj 18 0 Td (two) Tj 0 -12 Td (x) Tj ET", "onetwo\nx"),
        ("BT /F1 10 Tf 0 1 -1 0 50 50 Tm (one) Tj 18 0 Td (two) Tj 24 0 Td (x) Tj ET", "onetwo x"),
        ("q 1 0 0 1 0 99 cm BT /F1 10 Tf (one) Tj ET Q BT /F1 10 Tf (two) Tj ET", "one\ntwo"),
        ("BT /F1 10 Tf 6 Tc 50 500 Td (one) Tj 36 0 Td (two) Tj ET", "onetwo"),
        ("BT /F1 10 Tf 9 Tw 50 500 Td (a b) Tj 27 0 Td (c) Tj ET", "a bc"),
        ("BT /F1 10 Tf (gr\\374n \\200) Tj ET", "grün €"),
        ("BT (no font) Tj ET", ""),
    ] {
        assert_eq!(text(content), expected, "{content}");
    }
}

#[test]
fn a_font_says_which_letters_it_has_and_how_wide_they_are() {
    let content = "BT /F2 10 Tf 50 500 Td <00010002> Tj 15 0 Td <0003> Tj 13 0 Td <0001> Tj ET";
    let (mut document, pages) = document(&[content]);
    let map = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /Letters def\n/CMapType 2 def\n\
               1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n\
               3 beginbfchar\n<0001> <0416>\n<0002> <FB01>\n<0003> <65E5>\nendbfchar\n\
               endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n";
    let letters = document.add_object(Stream::new(dictionary! {}, map.as_bytes().to_vec()));
    let inner = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "CIDFontType2", "DW" => 1000,
        "W" => vec![1.into(), vec![Object::Integer(500)].into(), 2.into(), 2.into(), 1000.into()],
    });
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "Encoding" => "Identity-H", "ToUnicode" => letters,
        "DescendantFonts" => vec![Object::Reference(inner)],
    });
    let resources = dictionary! { "Font" => dictionary! { "F2" => font } };
    document.get_dictionary_mut(pages[0]).unwrap().set("Resources", resources);
    assert_eq!(text_of(&saved(document)).unwrap(), "Жfi日 Ж");
}

#[test]
fn parts_of_pages_have_text_and_one_that_is_in_itself_ends() {
    let (mut document, pages) = document(&["BT /F1 10 Tf (before) Tj ET q 1 0 0 1 0 -50 cm /X Do Q"]);
    let form = document.new_object_id();
    let of = dictionary! {
        "Type" => "XObject", "Subtype" => "Form", "Matrix" => vec![1.into(), 0.into(), 0.into(), 1.into(), 0.into(), 5.into()],
    };
    document.objects.insert(form, Stream::new(of, b"BT /F1 10 Tf (within) Tj ET /X Do".to_vec()).into());
    let font = Pdf::read(&saved(document.clone())).unwrap().of_page(0, b"Resources").unwrap().clone();
    let mut resources = font.as_dict().unwrap().clone();
    resources.set("XObject", dictionary! { "X" => form });
    document.get_dictionary_mut(pages[0]).unwrap().set("Resources", resources);
    let text = text_of(&saved(document)).unwrap();
    assert!(text.starts_with("before\nwithin") && text.matches("within").count() < 20, "{text}");
}

#[test]
fn pages_are_taken_out_and_put_together() {
    let application = application();
    fs::write("abc.pdf", lines(&["a", "b", "c"])).unwrap();
    fs::write("de.pdf", lines(&["d", "e"])).unwrap();
    for (pages, expected) in [("2", &["b"][..]), ("3,1-2", &["c", "a", "b"]), ("2-", &["b", "c"]), ("1,1", &["a", "a"])]
    {
        let answer = application.ok(&["split", "abc.pdf", "practice/some.pdf", "--pages", pages, "--replace"]);
        assert_eq!(answer["items"], json!([{"files": ["practice/some.pdf"], "pages": expected.len()}]));
        assert_eq!(shown(&application, "practice/some.pdf"), expected, "{pages}");
    }
    for pages in ["0", "4", "2-1", "1-4", "", "1,", "a", "-1", "99999999999999999999"] {
        let refused = application.refused(&["text", "abc.pdf", "--pages", pages]);
        assert_eq!(refused["code"], "INVALID_VALUE", "{pages}");
    }
    let twice =
        r#"[{"to":"practice/two.pdf","files":["abc.pdf","de.pdf"]},{"to":"practice/two.pdf","files":["de.pdf"]}]"#;
    let refused = application.call(&["merge", "--json-input"], twice.as_bytes());
    assert!(refused.stdout.contains("EDITS_CONFLICT") && !Path::new("practice/two.pdf").exists(), "{}", refused.stdout);
    application.ok(&["merge", "practice/both.pdf", "de.pdf", "abc.pdf"]);
    assert_eq!(shown(&application, "practice/both.pdf"), ["d", "e", "a", "b", "c"]);
    let sizes = application.ok(&["show", "practice/both.pdf", "--fields", "size"]);
    assert_eq!(sizes["items"][4], json!({"size": [420.0, 595.0]}));
    for to in ["practice/both", "practice/*.pdf", "practice/../both.pdf", "both.PDF"] {
        assert_eq!(application.refused(&["merge", to, "de.pdf"])["code"], "INVALID_VALUE", "{to}");
    }
    assert_eq!(application.refused(&["merge", "practice/both.pdf", "de.pdf"])["code"], "EDITS_CONFLICT");
}

#[test]
fn no_other_page_comes_along_and_nothing_that_is_not_there() {
    let (mut document, pages) = document(&["(a) Tj", "(secret) Tj"]);
    let dead = Object::Reference((900, 0));
    let link = dictionary! {
        "Type" => "Annot", "Subtype" => "Link", "P" => pages[0], "Dest" => vec![pages[1].into(), "Fit".into()], "A" => dead,
    };
    let link = document.add_object(link);
    document.get_dictionary_mut(pages[0]).unwrap().set("Annots", vec![Object::Reference(link)]);
    let pdf = Pdf::read(&saved(document)).unwrap();
    let made = Pdf::read(&made(&[(&pdf, &[0]), (&pdf, &[0])]).unwrap()).unwrap();
    assert!(!format!("{:?}", made.document.objects).contains("secret"));
    for page in &made.pages {
        let annots = made.document.get_page_annotations(*page).unwrap();
        assert_eq!(annots[0].get(b"P").unwrap(), &Object::Reference(*page));
        assert_eq!(annots[0].get(b"Dest").unwrap().as_array().unwrap()[0], Object::Null);
        assert_eq!(annots[0].get(b"A").unwrap(), &Object::Null);
    }
    assert_eq!(made.pages.len(), 2);
}

#[test]
fn a_broken_file_is_refused_and_never_a_panic() {
    for bytes in [&b""[..], b"%PDF-1.7\n", b"no pdf", b"%PDF-1.7\ntrailer\n<< /Root 1 0 R >>\nstartxref\n9\n%%EOF"] {
        assert_eq!(code(bytes), Some("PDF_INVALID"), "{bytes:?}");
    }
    let bytes = lines(&["a", "b"]);
    for at in 0..bytes.len() - 16 {
        assert!(code(&bytes[..at]).is_some(), "cut off at {at}");
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let _ = Pdf::read(&flipped).map(|pdf| made(&[(&pdf, &[0])]).map(|made| code(&made)));
        let _ = code(&flipped);
    }
}

#[test]
fn a_tree_that_never_ends_or_a_count_that_is_none_is_refused() {
    type Harm = fn(&mut Document, &[ObjectId]);
    let harms: [(&str, Harm); 6] = [
        ("a page twice", |it, pages| {
            let floor = it.get_dictionary(pages[0]).unwrap().get(b"Parent").unwrap().as_reference().unwrap();
            it.get_dictionary_mut(floor).unwrap().set("Kids", vec![Object::Reference(pages[0]); 2]);
        }),
        ("itself", |it, pages| {
            let floor = it.get_dictionary(pages[0]).unwrap().get(b"Parent").unwrap().as_reference().unwrap();
            it.get_dictionary_mut(floor).unwrap().set("Kids", vec![Object::Reference(floor); 2]);
        }),
        ("a page and itself", |it, pages| {
            let floor = it.get_dictionary(pages[0]).unwrap().get(b"Parent").unwrap().as_reference().unwrap();
            let kids: Vec<Object> = vec![pages[0].into(), pages[1].into(), floor.into()];
            it.get_dictionary_mut(floor).unwrap().set("Kids", kids);
        }),
        ("a count", |it, _| {
            let top = it.catalog().unwrap().get(b"Pages").unwrap().as_reference().unwrap();
            it.get_dictionary_mut(top).unwrap().set("Count", i64::MAX);
        }),
        ("no page", |it, pages| {
            it.objects.remove(&pages[1]);
        }),
        ("no content", |it, pages| {
            it.get_dictionary_mut(pages[0]).unwrap().set("Contents", Object::Reference((900, 0)));
        }),
    ];
    for (name, harm) in harms {
        let (mut document, pages) = document(&["", ""]);
        harm(&mut document, &pages);
        assert_eq!(code(&saved(document)), Some("PDF_INVALID"), "{name}");
    }
    // What is above a page leads back to it.
    let (mut document, pages) = document(&["(a) Tj"]);
    document.get_dictionary_mut(pages[0]).unwrap().set("Parent", pages[0]);
    let pdf = Pdf::read(&saved(document)).unwrap();
    assert_eq!((pdf.of_page(0, b"MediaBox"), pdf.size(0)), (None, Vec::new()));
}

#[test]
fn what_is_packed_is_bounded_before_it_is_unpacked() {
    let (mut document, pages) = document(&[""]);
    let mut content = Stream::new(dictionary! {}, vec![b' '; CONTENT_BYTES_MAX + 1]);
    content.compress().unwrap();
    assert!(content.content.len() < 1 << 16);
    let content = document.add_object(content);
    document.get_dictionary_mut(pages[0]).unwrap().set("Contents", content);
    assert_eq!(code(&saved(document.clone())), Some("PDF_TOO_LARGE"));
    // So is what is unpacked again and again.
    let mut half = Stream::new(dictionary! {}, vec![b' '; CONTENT_BYTES_MAX / 2 + 1]);
    half.compress().unwrap();
    let half = Object::Reference(document.add_object(half));
    document.get_dictionary_mut(pages[0]).unwrap().set("Contents", vec![half.clone(), half]);
    assert_eq!(code(&saved(document)), Some("PDF_TOO_LARGE"));
}

#[test]
fn an_encrypted_file_is_not_decrypted() {
    let locked = fs::read(format!("{PACKAGE}/practice/locked.pdf")).unwrap();
    assert_eq!(code(&locked), Some("PDF_ENCRYPTED"));
    let mut strange = locked.clone();
    let at = strange.windows(9).position(|it| it == b"/Standard").unwrap();
    strange[at + 1] = b'X';
    assert_eq!(code(&strange), Some("PDF_ENCRYPTED"));
}

#[test]
fn what_was_shown_can_be_split_at_once() {
    let application = application();
    fs::write("xy.pdf", lines(&["x", "y"])).unwrap();
    let shown = application.ok(&["show", "xy.pdf"]).to_string();
    let written = application.batch(&["split", "--json-input"], &shown);
    assert_eq!(written["items"][1], json!({"files": ["xy-2.pdf"], "pages": 1}));
    assert_eq!(self::shown(&application, "xy-2.pdf"), ["y"]);
}
