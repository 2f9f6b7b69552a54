//! What a bucket lists, from its XML. Names are of our own making and hold nothing that would be escaped; what else stands in a bucket is left
//! out.

/// An object that is there.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Listed {
    /// Its name, without what all names begin with.
    pub(crate) key: String,
    pub(crate) bytes: u64,
}

/// One page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) listed: Vec<Listed>,
    /// The server's word for where the next page begins; none if this is the last one.
    pub(crate) next: Option<String>,
}

/// The text between the first tag of this name and its end.
pub(crate) fn inside<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

/// Reads an answer to `ListObjectsV2`; none if it is none.
pub(crate) fn page(text: &str, prefix: &str) -> Option<Page> {
    if !text.contains("<ListBucketResult") {
        return None;
    }
    let next = match inside(text, "IsTruncated")? {
        "true" => Some(unescaped(inside(text, "NextContinuationToken")?)?),
        _ => None,
    };
    let mut listed = Vec::new();
    for part in text.split("<Contents>").skip(1) {
        let (key, bytes) = (inside(part, "Key")?, inside(part, "Size")?.parse().ok()?);
        listed.extend(key.strip_prefix(prefix).map(|key| Listed { key: key.to_owned(), bytes }));
    }
    Some(Page { listed, next })
}

/// A text without the escapes that XML knows by name; none if it has others.
fn unescaped(text: &str) -> Option<String> {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'")];
    let plain = names.iter().fold(text.to_owned(), |text, (name, plain)| text.replace(name, plain));
    (!plain.replace("&amp;", "").contains('&')).then(|| plain.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_and_nothing_else_is() {
        let text = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>b</Name><IsTruncated>true</IsTruncated>\
            <NextContinuationToken>a/b+c=&amp;lt;</NextContinuationToken><Contents><Key>p/a</Key><ETag>e</ETag><Size>12</Size></Contents>\
            <Contents><Size>0</Size><Key>q/&amp;</Key></Contents></ListBucketResult>";
        let listed = vec![Listed { key: "a".to_owned(), bytes: 12 }];
        assert_eq!(page(text, "p/"), Some(Page { listed: listed.clone(), next: Some("a/b+c=&lt;".to_owned()) }));
        let last = text.replace("true", "false");
        assert_eq!(page(&last, "p/"), Some(Page { listed, next: None }));
        for other in
            ["", "<Error><Code>NoSuchBucket</Code></Error>", "<ListBucketResult><IsTruncated>true</IsTruncated>"]
        {
            assert_eq!(page(other, ""), None, "{other}");
        }
        assert_eq!(page(&text.replace("12", "many"), "p/"), None);
        assert_eq!(page(&text.replace("&amp;lt;", "&#43;"), "p/"), None);
    }
}
