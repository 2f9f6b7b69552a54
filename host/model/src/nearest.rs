//! "Did you mean": the one rule by which a word that is not known is taken for one that is, wherever a person may have slipped. Knows
//! nothing of what the words name.

/// The name that a misspelt one most likely stands for.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    const COMPARED_CHARACTERS_MAX: usize = 48;
    if word.chars().count() > COMPARED_CHARACTERS_MAX {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    known
        .filter(|name| name.len().abs_diff(word.len()) <= allowed_edits(name) + name.matches(['-', '_', ' ']).count())
        .map(|name| (strsim::osa_distance(&word, &plain(name)), name))
        .filter(|(distance, name)| *distance <= allowed_edits(name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many slips a name may hold and still be recognised.
fn allowed_edits(name: &str) -> usize {
    name.len().div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["state", "resources", "env", "mounts", "limits", "guard", "feedback"];
        let near = |word| nearest(word, known.iter().copied());
        assert_eq!(near("stat"), Some("state"));
        assert_eq!(near("Resource"), Some("resources"));
        assert_eq!(near("limit"), Some("limits"));
        assert_eq!(near("gaurd"), Some("guard"));
        assert_eq!(near("network"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"state".repeat(1000)), None);
    }
}
