//! The text of a page, in the order in which it is drawn. Where it stands says where words and lines end.

use std::{collections::BTreeMap, slice};

use hutch_guest::Failure;
use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Encoding, Object, Stream};

use crate::pdf::{Pdf, told};

/// Parts of pages within one another.
const DEPTH_MAX: usize = 16;
/// Of the height of letters: what is further apart is another line, or another word.
const LINE: f32 = 0.5;
const WORD: f32 = 0.15;
const LIGATURES: [(&str, &str); 5] = [("ﬀ", "ff"), ("ﬁ", "fi"), ("ﬂ", "fl"), ("ﬃ", "ffi"), ("ﬄ", "ffl")];

/// How letters are read of which a font says nothing.
const LATIN: Encoding<'_> = Encoding::SimpleEncoding(b"WinAnsiEncoding");
/// What fonts call letters; a space that keeps words together is any.
const NAMES: &str = "space=\u{a0} exclam=! quotedbl=\" numbersign=# dollar=$ percent=% ampersand=& quotesingle=' quoteright=’ parenleft=( parenright=) \
    asterisk=* plus=+ comma=, hyphen=- minus=− period=. slash=/ zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 colon=: \
    semicolon=; less=< equal== greater=> question=? at=@ bracketleft=[ backslash=\\ bracketright=] asciicircum=^ underscore=_ quoteleft=‘ grave=` braceleft={ \
    bar=| braceright=} asciitilde=~ ff=ff fi=fi fl=fl ffi=ffi ffl=ffl endash=– emdash=— quotedblleft=“ quotedblright=” bullet=• dotlessi=ı \
    germandbls=ß adieresis=ä odieresis=ö udieresis=ü Adieresis=Ä Odieresis=Ö Udieresis=Ü eacute=é egrave=è agrave=à ccedilla=ç Euro=€ \
    copyright=© section=§ degree=° ellipsis=… visiblespace=␣ asteriskmath=∗";

type Matrix = [f32; 6];
const SAME: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn then([a, b, c, d, e, f]: Matrix, by: Matrix) -> Matrix {
    let turned = |x: f32, y: f32| [x * by[0] + y * by[2], x * by[1] + y * by[3]];
    let ([a, b], [c, d], [e, f]) = (turned(a, b), turned(c, d), turned(e, f));
    [a, b, c, d, e + by[4], f + by[5]]
}

fn matrix(numbers: &[Object]) -> Matrix {
    let number = |at: usize| numbers.get(at).and_then(|it| it.as_float().ok());
    [0, 1, 2, 3, 4, 5].map(|at| number(at).unwrap_or(SAME[at]))
}

/// How letters are read and how wide they are, in thousandths of their height.
struct Font {
    letters: BTreeMap<usize, String>,
    wide: bool,
    widths: BTreeMap<usize, f32>,
    other: f32,
}

/// The text so far, where it ends, and how many bytes more are read.
pub(crate) struct Text<'a> {
    document: &'a Document,
    text: String,
    end: Option<[f32; 2]>,
    bytes_left: &'a mut usize,
}

/// The text of a page.
pub(crate) fn of(pdf: &Pdf, page: usize, bytes_left: &mut usize) -> Result<String, Failure> {
    let mut text = Text { document: &pdf.document, text: String::new(), end: None, bytes_left };
    let mut content = Vec::new();
    for id in pdf.document.get_page_contents(pdf.pages[page]) {
        content.extend(text.unpacked(pdf.document.get_object(id).and_then(Object::as_stream).map_err(told)?)?);
        content.push(b'\n');
    }
    let resources = pdf.of_page(page, b"Resources").and_then(|it| it.as_dict().ok()).cloned().unwrap_or_default();
    text.draw(&content, &resources, SAME, 0)?;
    Ok(LIGATURES.iter().fold(text.text, |text, (one, letters)| text.replace(one, letters)))
}

impl Font {
    fn read<'a>(document: &'a Document, font: &'a Dictionary, bytes_max: usize) -> Result<Self, Failure> {
        let list = |it: &'a Dictionary, key: &[u8]| it.get_deref(key, document).and_then(Object::as_array).ok();
        let number = |it: &Object| document.dereference(it).and_then(|(_, it)| it.as_float()).unwrap_or_default();
        let inner =
            list(font, b"DescendantFonts").and_then(|it| document.dereference(it.first()?).ok()?.1.as_dict().ok());
        // Of a font with wide letters: a first code and a list of widths, or a first, a last and their width.
        let simple = || Some([font.get(b"FirstChar").ok()?.clone(), font.get(b"Widths").ok()?.clone()]);
        let listed = inner.map_or_else(|| simple().map(Vec::from), |it| list(it, b"W").cloned()).unwrap_or_default();
        let (mut widths, mut codes) = (BTreeMap::<usize, f32>::new(), Vec::new());
        for it in &listed {
            match (document.dereference(it).map(|(_, it)| it), &codes[..]) {
                (Ok(Object::Array(each)), [first]) => widths.extend((*first..).zip(each.iter().map(number))),
                (_, [first, last]) => widths.extend((*first..=*last.min(&0xffff)).map(|code| (code, number(it)))),
                _ => {
                    codes.push(number(it) as usize);
                    continue;
                }
            }
            codes.clear();
        }
        let other = inner.map_or(500.0, |it| it.get(b"DW").map_or(1000.0, number));
        let (mut letters, mut code) = (BTreeMap::new(), 0);
        let own = font.get_deref(b"Encoding", document).and_then(Object::as_dict).ok();
        for it in own.and_then(|it| list(it, b"Differences")).into_iter().flatten() {
            if let Object::Name(name) = it {
                letters.extend(named(name).map(|it| (code, it)));
                code += 1;
            } else {
                code = number(it) as usize;
            }
        }
        // What a font says about its letters as text goes before their names.
        if let Ok(Object::Stream(map)) = font.get_deref(b"ToUnicode", document) {
            let map = map.decompressed_content_with_limit(bytes_max).map_err(told)?;
            for Operation { operator, operands } in Content::decode_iter(&map).flatten() {
                let each = if operator == "endbfchar" { 2 } else { 3 };
                for of in
                    operands.chunks_exact(each).filter(|_| matches!(operator.as_str(), "endbfchar" | "endbfrange"))
                {
                    let (first, last) = (code_of(of[0].as_str().unwrap_or_default()), of[each - 2].as_str());
                    for (at, code) in (first..=code_of(last.unwrap_or_default()).min(0xffff)).enumerate() {
                        letters.extend(match &of[each - 1] {
                            Object::Array(list) => list.get(at).and_then(|it| Some((code, utf16(it, 0)?))),
                            it => utf16(it, at).map(|it| (code, it)),
                        });
                    }
                }
            }
        }
        Ok(Self { letters, wide: inner.is_some(), widths, other })
    }
}

/// The text that a letter of this name is.
fn named(name: &[u8]) -> Option<String> {
    let name = str::from_utf8(name).ok()?;
    let number = || u32::from_str_radix(name.strip_prefix("uni")?, 16).ok().and_then(char::from_u32);
    let known = || NAMES.split(' ').filter_map(|it| it.split_once('=')).find(|(it, _)| *it == name);
    let alone = || (name.chars().count() == 1).then(|| name.to_owned());
    alone().or_else(|| known().map(|(_, it)| it.replace('\u{a0}', " "))).or_else(|| number().map(String::from))
}

fn code_of(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// A text in UTF-16, whose last letter is so many further on.
fn utf16(text: &Object, further: usize) -> Option<String> {
    let pairs = text.as_str().ok()?.chunks(2).map(|it| code_of(it) as u16);
    let mut pairs: Vec<u16> = pairs.collect();
    *pairs.last_mut()? = pairs.last()?.wrapping_add(further as u16);
    Some(String::from_utf16_lossy(&pairs))
}

impl Text<'_> {
    fn unpacked(&mut self, stream: &Stream) -> Result<Vec<u8>, Failure> {
        let bytes = stream.decompressed_content_with_limit(*self.bytes_left).map_err(told)?;
        *self.bytes_left -= bytes.len();
        Ok(bytes)
    }

    fn draw(&mut self, content: &[u8], resources: &Dictionary, to_page: Matrix, depth: usize) -> Result<(), Failure> {
        let (document, mut fonts) = (self.document, BTreeMap::new());
        for (name, font) in document.get_dict_in_dict(resources, b"Font").ok().into_iter().flatten() {
            let Ok((_, Object::Dictionary(font))) = document.dereference(font) else { continue };
            fonts.insert(&name[..], Font::read(document, font, *self.bytes_left)?);
        }
        let (mut kept, mut state, mut line, mut at) = (Vec::new(), (to_page, None, 1.0), SAME, SAME);
        let (mut leading, mut between, mut words) = (0.0, 0.0, 0.0);
        for operation in Content::decode_iter(content) {
            let Operation { operator, operands } = operation.map_err(told)?;
            let number = |at: usize| operands.get(at).and_then(|it| it.as_float().ok()).unwrap_or_default();
            let name = operands.first().and_then(|it| it.as_name().ok()).unwrap_or_default();
            let moved = |x, y, from| then([1.0, 0.0, 0.0, 1.0, x, y], from);
            match operator.as_str() {
                "q" => kept.push(state),
                "Q" => state = kept.pop().unwrap_or(state),
                "cm" => state.0 = then(matrix(&operands), state.0),
                "Tf" => (state.1, state.2) = (fonts.get(name), number(1)),
                "TL" => leading = number(0),
                "Tc" => between = number(0),
                "Tw" => words = number(0),
                "BT" => line = SAME,
                "Tm" => line = matrix(&operands),
                "Td" => line = moved(number(0), number(1), line),
                "TD" => (leading, line) = (-number(1), moved(number(0), number(1), line)),
                "T*" | "'" | "\"" => line = moved(0.0, -leading, line),
                "Do" if depth < DEPTH_MAX => {
                    let drawn = document.get_dict_in_dict(resources, b"XObject");
                    let Ok(Object::Stream(form)) = drawn.and_then(|it| it.get_deref(name, document)) else { continue };
                    if form.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|it| it == b"Form") {
                        let turned = form.dict.get_deref(b"Matrix", document).and_then(Object::as_array);
                        let own = document.get_dict_in_dict(&form.dict, b"Resources").unwrap_or(resources);
                        let content = self.unpacked(form)?;
                        self.draw(&content, own, then(turned.map_or(SAME, |it| matrix(it)), state.0), depth + 1)?;
                    }
                }
                _ => {}
            }
            if matches!(operator.as_str(), "BT" | "Tm" | "Td" | "TD" | "T*" | "'" | "\"") {
                at = line;
            }
            let pieces = match operands.last().filter(|_| matches!(operator.as_str(), "Tj" | "TJ" | "'" | "\"")) {
                Some(Object::Array(pieces)) => pieces,
                piece => piece.map_or(&[][..], slice::from_ref),
            };
            for piece in pieces {
                let gone = match (piece, state.1) {
                    (Object::String(letters, _), Some(font)) => {
                        self.show(letters, font, then(at, state.0), [state.2, between, words])
                    }
                    _ => -piece.as_float().unwrap_or_default() / 1000.0 * state.2,
                };
                at = moved(gone, 0.0, at);
            }
        }
        Ok(())
    }

    /// Adds letters that stand somewhere, and says how far they go.
    fn show(&mut self, letters: &[u8], font: &Font, at: Matrix, [size, between, words]: [f32; 3]) -> f32 {
        let [a, b, .., x, y] = at;
        if let Some([end_x, end_y]) = self.end {
            let (x, y, height) = (x - end_x, y - end_y, ((a * a + b * b) * size).abs());
            let (along, across) = (x * a + y * b, y * a - x * b);
            let word = (along.abs() > WORD * height && !self.text.ends_with(char::is_whitespace)).then_some(' ');
            self.text.extend(if across.abs() > LINE * height { Some('\n') } else { word });
        }
        let mut gone = 0.0;
        for bytes in letters.chunks(1 + usize::from(font.wide)) {
            let code = code_of(bytes);
            match font.letters.get(&code) {
                Some(letters) => self.text.push_str(letters),
                None if font.wide => self.text.push(char::REPLACEMENT_CHARACTER),
                None => LATIN.write_to_string(bytes, &mut self.text).map_err(told).unwrap_or_default(),
            }
            gone += font.widths.get(&code).unwrap_or(&font.other) / 1000.0 * size + between;
            gone += if code == 32 && !font.wide { words } else { 0.0 };
        }
        self.end = Some([x + gone * a, y + gone * b]);
        gone
    }
}
