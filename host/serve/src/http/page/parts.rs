//! Forms in which a file was chosen (RFC 7578), as browsers send them: what is of another form is refused as a whole.

/// What stands between a form's type and its mark.
const FORM: &str = "multipart/form-data; boundary=";

/// A field of a form, or a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'b> {
    pub(super) name: &'b str,
    /// What the file is called, if it is one; nothing where none was chosen.
    pub(super) file: Option<&'b str>,
    pub(super) content: &'b [u8],
}

/// The parts of a body, if there are at most so many.
pub(super) fn of<'b>(content_type: &str, body: &'b [u8], most: usize) -> Option<Vec<Part<'b>>> {
    let boundary = content_type.strip_prefix(FORM)?;
    let is_mark = |one: u8| one.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&one);
    if !(1..=70).contains(&boundary.len()) || !boundary.bytes().all(is_mark) {
        return None;
    }
    let mark = format!("\r\n--{boundary}").into_bytes();
    let (mut rest, mut parts) = (body.strip_prefix(mark.split_at(2).1)?, Vec::new());
    while !matches!(rest, b"--" | b"--\r\n") {
        let (part, behind) = split(rest.strip_prefix(b"\r\n")?, &mark)?;
        if parts.len() == most {
            return None;
        }
        parts.push(read(part)?);
        rest = behind;
    }
    Some(parts)
}

fn read(part: &[u8]) -> Option<Part<'_>> {
    let (head, content) = split(part, b"\r\n\r\n")?;
    let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
    let said = lines.find_map(|line| line.strip_prefix("Content-Disposition: form-data; name=\""))?;
    let (name, more) = said.split_once('"')?;
    let file = match more {
        "" => None,
        more => Some(more.strip_prefix("; filename=\"")?.strip_suffix('"')?),
    };
    Some(Part { name, file, content })
}

/// What stands before a mark, and what behind it.
fn split<'b>(bytes: &'b [u8], mark: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let at = bytes.windows(mark.len()).position(|window| window == mark)?;
    let (before, rest) = bytes.split_at(at);
    Some((before, rest.split_at(mark.len()).1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=----x1";
    const BODY: &str = "------x1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--\r\n\
                        ------x1\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n\r\n\
                        ------x1\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
                        ------x1\r\nContent-Disposition: form-data; name=\"f\"; filename=\"c d.bin\"\r\nContent-Type: x/y\r\n\r\n\0\r\n\r\n------x\r\n\
                        ------x1--\r\n";

    #[test]
    fn fields_and_files_are_what_a_browser_sent() {
        let part = |name, file, content: &'static str| Part { name, file, content: content.as_bytes() };
        let all = [
            part("a", None, "one\r\n--"),
            part("b", None, ""),
            part("f", Some(""), ""),
            part("f", Some("c d.bin"), "\0\r\n\r\n------x"),
        ];
        assert_eq!(of(TYPE, BODY.as_bytes(), 4).unwrap(), all);
        assert_eq!(of(TYPE, b"------x1--", 4).unwrap(), []);
        assert_eq!(of(TYPE, BODY.as_bytes(), 3), None, "there are more than that");
    }

    #[test]
    fn what_is_cut_or_of_another_form_is_no_form() {
        for end in 0..BODY.len() - 2 {
            assert_eq!(of(TYPE, &BODY.as_bytes()[..end], 4), None, "{end}");
        }
        for (kind, body) in [
            ("multipart/form-data", BODY),
            ("multipart/form-data; boundary=", "--\r\n"),
            ("multipart/form-data; boundary=----x2", BODY),
            ("multipart/form-data; boundary=\"----x1\"", BODY),
            (TYPE, ""),
            (TYPE, "title=milk"),
            (TYPE, "------x1\r\n\r\none\r\n------x1--"),
            (TYPE, "------x1\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\none\r\n------x1--"),
            (TYPE, "------x1\r\nContent-Disposition: form-data; name=\"a\"; x=\"y\"\r\n\r\none\r\n------x1--"),
            (TYPE, "------x1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n------x1more"),
        ] {
            assert_eq!(of(kind, body.as_bytes(), 4), None, "{kind} {body}");
        }
    }
}
