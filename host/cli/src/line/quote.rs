//! Words as a person would type them at a POSIX shell.

/// The words as one line, each quoted where a shell would read it otherwise.
pub(crate) fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => always(word),
    }
}

/// A word in quotes, for a script: nothing in it means anything to a shell.
pub(crate) fn always(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_a_shell_would_read_is_quoted() {
        let words = ["hutch", "a b", "it's", "", "--at=2026-04-05T09:00:00Z", "$(x)"];
        assert_eq!(super::line(words), r"hutch 'a b' 'it'\''s' '' --at=2026-04-05T09:00:00Z '$(x)'");
    }
}
