//! Which symbolic links stay inside the folder that they are in. Pure.

/// Whether a link `depth` folders below the root stays inside, wherever it is followed from: it goes up first, at most to the
/// root, and then only down. A target that goes up after it went down is refused too: it would depend on what other links
/// say.
pub fn stays_inside(depth: usize, target: &str) -> bool {
    // A backslash or a colon could make the target absolute on Windows.
    if target.is_empty() || target.starts_with('/') || target.contains(['\\', ':', '\0']) {
        return false;
    }
    let mut parts = target.split('/').filter(|part| !part.is_empty() && *part != ".").peekable();
    let mut up = 0;
    while parts.next_if_eq(&"..").is_some() {
        up += 1;
    }
    up <= depth && parts.all(|part| part != "..")
}

#[cfg(test)]
mod tests {
    use super::stays_inside;

    #[test]
    fn links_that_could_leave_are_found() {
        let cases = [
            (0, "a", true),
            (0, "a/b", true),
            (0, ".", true),
            (0, "./a//b/", true),
            (1, "../a", true),
            (2, "../../a", true),
            (2, "./.././../a", true),
            (0, "..", false),
            (1, "../..", false),
            (0, "", false),
            (3, "/etc/passwd", false),
            (3, "a/..", false),
            (3, "../a/../b", false),
            (0, "C:", false),
            (0, "\\\\host\\share", false),
            (0, "a\0", false),
        ];
        for (depth, target, expect) in cases {
            assert_eq!(stays_inside(depth, target), expect, "{depth} {target:?}");
        }
    }
}
