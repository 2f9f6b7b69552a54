//! Characters that nobody sees where they stand: the one list of them, and how JSON says them so that they are seen. A program reads
//! them all the same, so a text with some can tell an agent what it does not tell the person who judged it.

mod shaping;

use shaping::{is_pictograph, is_virama, joins};
use std::borrow::Cow;
use std::fmt::Write;

/// What has no form to be seen, or changes the order in which others are seen: controls, marks of direction, zero widths, fillers,
/// selectors of variants, tags. By Unicode's properties it is Default_Ignorable_Code_Point, the format and control characters (Cf, Cc)
/// and the two separators of lines (Zl, Zp), without the Cf that are drawn (Prepended_Concatenation_Mark); a test holds it to that.
const HIDDEN: [(char, char); 20] = [
    ('\u{0}', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// What turns the direction of the text around it: Unicode's Bidi_Control.
const TURNING: [(char, char); 4] =
    [('\u{61c}', '\u{61c}'), ('\u{200e}', '\u{200f}'), ('\u{202a}', '\u{202e}'), ('\u{2066}', '\u{2069}')];

fn is_in(ranges: &[(char, char)], c: char) -> bool {
    let behind = ranges.partition_point(|(_, last)| *last < c);
    ranges.get(behind).is_some_and(|(first, _)| *first <= c)
}

/// Whether a character is in the one list of what is hidden. Line ends and tabs are among it; who allows those says so.
pub fn is_hidden(c: char) -> bool {
    // Nearly all letters are these.
    !matches!(c, ' '..='~') && is_in(&HIDDEN, c)
}

/// What nobody sees where it stands, or what would not be seen elsewhere: line ends and tabs are seen.
pub fn is_unseen(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_hidden(c)
}

/// Whether a terminal acts on a character, or draws others in another order for it. What merely has no form does nothing there, and
/// parts words in scripts that are written without spaces.
pub(crate) fn acts_on_terminals(c: char) -> bool {
    !matches!(c, '\n' | '\t') && (c.is_control() || is_in(&TURNING, c))
}

/// The hidden characters of a text, each with the byte that it begins at. Not among them is what shapes the characters beside it, and
/// is seen by that: U+200C between letters that join, U+200C or U+200D at a virama, U+200D between emoji, and U+FE0E or U+FE0F behind
/// an emoji or within a keycap; none behind another, and no joiner at an end of the text. What remains is whether one stands where it
/// changes nothing, as between emoji that make no picture together, or behind a letter that never joins the next: less than three bits
/// for each emoji and virama, and one for each letter of a script that joins. Letters of all other scripts carry none.
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut letters = text.char_indices().peekable();
    let mut before = [None; 2];
    std::iter::from_fn(move || {
        loop {
            let (at, c) = letters.next()?;
            let [further, left] = before;
            before = [left, Some(c)];
            if is_hidden(c) && !shapes([further, left], c, letters.peek().map(|(_, next)| *next)) {
                return Some((at, c));
            }
        }
    })
}

/// Whether what stands behind these two and before that one only shapes them.
fn shapes([further, left]: [Option<char>; 2], c: char, right: Option<char>) -> bool {
    let Some(left) = left else { return false };
    match (c, right) {
        ('\u{fe0f}', Some('\u{20e3}')) if matches!(left, '0'..='9' | '#' | '*') => true,
        ('\u{fe0e}' | '\u{fe0f}', _) => is_pictograph(left),
        ('\u{200c}' | '\u{200d}', Some(right)) if is_virama(left) => !is_unseen(right),
        ('\u{200c}', Some(right)) => joins(left) && joins(right),
        // As in Bengali's `\u{9b0}\u{200d}\u{9cd}\u{9af}`. Letters that join without it show nothing of it.
        ('\u{200d}', Some(right)) if is_virama(right) => matches!(left, '\u{900}'..='\u{dff}'),
        ('\u{200d}', Some(right)) => {
            let is_of_emoji = matches!(left, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
            let emoji = if is_of_emoji { further } else { Some(left) };
            emoji.is_some_and(is_pictograph) && is_pictograph(right)
        }
        _ => false,
    }
}

/// Whether a text holds what is hidden, line ends and tabs apart.
pub(crate) fn first(text: &str) -> Option<char> {
    hidden(text).map(|(_, c)| c).find(|c| is_unseen(*c))
}

/// Whether nothing is hidden in a text, line ends and tabs apart.
///
/// # Errors
/// What is.
pub fn check(text: &str) -> Result<(), String> {
    first(text).map_or(Ok(()), |c| Err(not_allowed(c)))
}

/// Why a text with this character is refused.
pub fn not_allowed(c: char) -> String {
    format!("U+{:04X} is not allowed", u32::from(c))
}

/// The same JSON with what is hidden in its texts as `\uXXXX`: whoever parses it gets equal values, and whoever reads it as it is, sees
/// what stands there. `json` is JSON, or whole characters out of its middle.
pub fn escaped(json: &str) -> Cow<'_, str> {
    // Between its texts JSON has no other hidden characters than those.
    let mut found = hidden(json).filter(|(_, c)| !matches!(c, '\n' | '\r' | '\t')).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(json);
    }
    let (mut out, mut from) = (String::with_capacity(json.len() + 64), 0);
    for (at, c) in found {
        out.push_str(json.get(from..at).unwrap_or_default());
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a text does not fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
        from = at + c.len_utf8();
    }
    out.push_str(json.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<char> {
        hidden(text).map(|(_, c)| c).collect()
    }

    #[test]
    fn what_shapes_its_neighbours_is_seen_and_all_else_is_hidden() {
        let seen = [
            "plain ünïcode 日本 🎉",
            "👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈",
            "⚠\u{fe0f} 1\u{fe0f}\u{20e3} ©\u{fe0f} ☎\u{fe0e}",
            "می\u{200c}خواهم کِ\u{200c}ه",
            "क्\u{200d}ष क्\u{200c}ष അവന്\u{200d} \u{9b0}\u{200d}\u{9cd}\u{9af}",
            "👩🏽\u{200d}🚀 🕵\u{fe0f}\u{200d}♂\u{fe0f} 👩🏽\u{200d}🤝\u{200d}👨🏿 #\u{fe0f}\u{20e3}",
            "👩\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨",
        ];
        for text in seen {
            assert_eq!(found(text), [], "{text:?}");
        }
        let hidden = [
            ("a\u{200b}b", 1),
            ("a\u{200d}b", 1),
            ("\u{200d}🚀", 1),
            ("🚀\u{200d}", 1),
            ("👩\u{200d}\u{200d}🚀", 2),
            ("é\u{200c}é", 1),
            ("中\u{200d}文", 1),
            ("中\u{200c}文\u{200d}字", 2),
            ("ก\u{200c}ข\u{200d}ค", 2),
            ("한\u{200d}글", 1),
            ("漢\u{fe0e}字\u{fe0f}", 2),
            ("ก\u{fe0f} ★\u{fe0f} م\u{fe0e} क्\u{fe0f}", 4),
            ("ب\u{200d}ب", 1),
            ("می\u{200c}", 1),
            ("\u{200c}می", 1),
            ("می\u{200c}\u{200c}خ", 2),
            ("می\u{200c}a 中\u{200c}م", 2),
            ("क्\u{200d}", 1),
            ("क्\u{200d}\u{200c}ष", 2),
            ("क\u{200d}ष 中\u{200d}\u{94d}", 2),
            ("🚀\u{200d}a a\u{200d}🚀 🚀\u{200c}🚀", 3),
            ("a🏽\u{200d}🚀", 1),
            ("👩🏽\u{fe0f}\u{200d}🚀", 2),
            ("☎\u{fe0e}\u{200d}🚀", 1),
            ("1\u{fe0f} 1\u{fe0e}\u{20e3} a\u{fe0f}\u{20e3} 🇦\u{fe0f}🇹", 4),
            ("a\u{fe0f}", 1),
            ("🎉\u{fe0f}\u{fe0f}\u{fe0e}", 2),
            ("🎉\u{fe00}", 1),
            ("🎉\u{e0101}", 1),
            ("🏴\u{e0067}\u{e0062}\u{e007f}", 3),
            ("a\u{ad}b\u{2060}\u{2066}\u{feff}\u{3164}\u{34f}\u{1b}\n", 8),
        ];
        for (text, count) in hidden {
            assert_eq!(found(text).len(), count, "{text:?}");
        }
    }

    /// By Unicode's own data, which the library for regular expressions carries.
    #[test]
    fn the_tables_are_unicodes() {
        let class = |class: &str| regex::Regex::new(&format!("^{class}$")).unwrap();
        let hidden =
            class(r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--\p{Prepended_Concatenation_Mark}]");
        let (control, turning) = (class(r"\p{Cc}"), class(r"\p{Bidi_Control}"));
        // Grapheme_Link is Canonical_Combining_Class 9. Letters' kinds of joining are not in it: their scripts are.
        let (pictograph, virama) = (class(r"[\p{Emoji}&&\p{Extended_Pictographic}]"), class(r"\p{Grapheme_Link}"));
        let joining = class(concat!(
            r"[[\p{Arabic}\p{Syriac}\p{Nko}\p{Mandaic}\p{Mongolian}\p{Hanifi_Rohingya}\p{Adlam}",
            // Of several scripts.
            r"\u{640}\u{64b}-\u{655}\u{670}]",
            r"&&[\p{L}\p{M}]--[\p{Default_Ignorable_Code_Point}\u{fb50}-\u{feff}\u{1ee00}-\u{1eeff}]]",
        ));
        let mut count = 0;
        for c in '\0'..=char::MAX {
            let text = c.encode_utf8(&mut [0; 4]).to_owned();
            assert_eq!(is_hidden(c), hidden.is_match(&text), "{c:?}");
            assert_eq!(is_unseen(c), hidden.is_match(&text) && !matches!(c, '\n' | '\t'), "{c:?}");
            let acts = (control.is_match(&text) || turning.is_match(&text)) && !matches!(c, '\n' | '\t');
            assert_eq!(acts_on_terminals(c), acts, "{c:?}");
            assert_eq!(is_pictograph(c), pictograph.is_match(&text), "{c:?}");
            assert_eq!(is_virama(c), virama.is_match(&text), "{c:?}");
            assert_eq!(joins(c), joining.is_match(&text), "{c:?}");
            count += u32::from(is_hidden(c));
        }
        assert!(count > 4000, "{count}");
        let ascends =
            |ranges: &[(char, char)]| ranges.windows(2).all(|two| two[0].0 <= two[0].1 && two[0].1 < two[1].0);
        assert!(ascends(&HIDDEN) && ascends(&TURNING));
        // The channels that are used, by name: tags, selectors, zero widths, fillers, joiners, marks of annotation.
        for (first, last) in [
            ('\u{e0000}', '\u{e007f}'),
            ('\u{e0100}', '\u{e01ef}'),
            ('\u{fe00}', '\u{fe0f}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{fff9}', '\u{fffb}'),
            ('\u{3164}', '\u{3164}'),
            ('\u{115f}', '\u{1160}'),
            ('\u{34f}', '\u{34f}'),
        ] {
            assert!((first..=last).all(is_hidden), "{first:?}");
        }
    }

    #[test]
    fn json_says_what_is_hidden_in_it() {
        let value = serde_json::json!({"a\u{200b}": "x\u{e0041}y\u{7f}\u{202e}", "b": "👩\u{200d}🚀\n"});
        let text = value.to_string();
        assert_eq!(escaped(&text), r#"{"a\u200b":"x\udb40\udc41y\u007f\u202e","b":"👩‍🚀\n"}"#);
        assert!(matches!(escaped("{\n\t\"a\": \"ünïcode\"\r\n}"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn escaping_loses_nothing_and_hides_nothing(
            text in "(\\PC|\\p{C}|[\u{200b}-\u{200f}\u{fe0e}\u{fe0f}\u{e0020}-\u{e007f}]|[क\u{94d}م👩\u{1f3fd}1\u{20e3}])*",
        ) {
            for json in [serde_json::to_string(&[&text]).unwrap(), serde_json::to_string_pretty(&[&text]).unwrap()] {
                let seen = escaped(&json);
                prop_assert_eq!(serde_json::from_str::<[String; 1]>(&seen).unwrap(), [text.clone()]);
                prop_assert_eq!(hidden(&seen).find(|(_, c)| *c != '\n'), None);
            }
        }
    }
}
