//! Telephone and payment card numbers, by their form alone.

use crate::hidden::is_unseen;

/// The bytes of the telephone or card number that the text begins with, or 0. What nobody sees may stand in it, or be where it ends.
/// Other digits may follow it behind a separator: whether it is a number is to be seen in it alone, so that taking out another one
/// makes none of what was none.
pub(super) fn number(text: &str) -> usize {
    match text.strip_prefix('+') {
        Some(behind) => {
            // As in `+(49)`.
            let digits = behind.trim_start_matches(|c| is_unseen(c) || c == '(');
            match telephone(digits).max(card(digits)) {
                0 => 0,
                bytes => text.len() - digits.len() + bytes,
            }
        }
        None => card(text),
    }
}

/// A telephone number behind its `+` (ITU-T E.164). It goes on until a card's number begins.
fn telephone(text: &str) -> usize {
    let is_whole = |digits: &[u32]| digits.len() >= 8;
    longest(text, 15, |digits, rest| is_whole(digits) && card(rest) > 0, |digits, _| is_whole(digits))
}

/// A payment card's number (ISO/IEC 7812-1), in groups as people write them: `4-4-4-4`, `4-6-5`, `4-4-5`, `4-4-4-4-3`, or one.
fn card(text: &str) -> usize {
    let is_group = |digits: &usize| (3..=7).contains(digits);
    // Two would be a number with its fraction.
    let is_grouped = |groups: &[usize]| groups.len() == 1 || (groups.len() > 2 && groups.iter().all(is_group));
    longest(text, 19, |_, _| false, |digits, groups| digits.len() >= 13 && is_grouped(groups) && luhn(digits))
}

/// Whether a text is a payment card's number and nothing else.
pub(super) fn is_card(text: &str) -> bool {
    !text.is_empty() && card(text) == text.len()
}

/// The bytes of the longest beginning of a text that is a number by its digits and the sizes of its groups, with at most two separators
/// between groups and nothing else that is seen, before a group where it `ends`.
fn longest(
    text: &str,
    digits_max: usize,
    ends: impl Fn(&[u32], &str) -> bool,
    is_number: impl Fn(&[u32], &[usize]) -> bool,
) -> usize {
    let (mut digits, mut groups) = (Vec::new(), Vec::new());
    // As if one stood before the first group.
    let (mut separators, mut end) = (1, 0);
    for (at, c) in text.char_indices() {
        match c {
            '0'..='9' if digits.len() < digits_max => {
                let rest = text.get(at..).unwrap_or_default();
                if separators > 0 {
                    if ends(&digits, rest) {
                        break;
                    }
                    groups.push(0);
                    separators = 0;
                }
                digits.push(c as u32 - '0' as u32);
                if let Some(group) = groups.last_mut() {
                    *group += 1;
                }
                let behind = rest.get(1..).unwrap_or_default();
                let is_fraction =
                    behind.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                let goes_on = is_fraction || behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                if !goes_on && is_number(&digits, &groups) {
                    end = at + 1;
                }
            }
            ' ' | '-' | '.' | '(' | ')' if separators < 2 && !digits.is_empty() => separators += 1,
            c if !digits.is_empty() && is_unseen(c) => {}
            _ => break,
        }
    }
    end
}

/// The checksum of payment cards (ISO/IEC 7812-1).
fn luhn(digits: &[u32]) -> bool {
    let doubled = |(at, digit): (usize, &u32)| match (at % 2, digit * 2) {
        (0, _) => *digit,
        (_, twice) if twice > 9 => twice - 9,
        (_, twice) => twice,
    };
    digits.iter().rev().enumerate().map(doubled).sum::<u32>().is_multiple_of(10)
}
