//! What of WebAssembly and WASI this host does not run, by name: a component that needs it is refused with that name, whatever words
//! the engine has for it.

/// Something that a component needs and this host does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feature {
    name: &'static str,
    described: &'static str,
}

impl Feature {
    /// The name that programs read, as `garbage_collection`. Names are never changed.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Feature> {
        FEATURES_OFF.iter().map(|(feature, _)| *feature).find(|feature| feature.name == name)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Feature> {
        FEATURES_OFF.iter().map(|(feature, _)| *feature)
    }

    /// The one that the engine's words stand for.
    #[cfg(any(feature = "compiler", feature = "runtime"))]
    pub(crate) fn meant_by(error: &str) -> Option<Feature> {
        let means = |words: &[&str]| words.iter().any(|words| error.contains(words));
        FEATURES_OFF.iter().find(|(_, words)| means(words)).map(|(feature, _)| *feature)
    }
}

impl std::fmt::Display for Feature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.described)
    }
}

/// What is said of a component that can't be linked and names an interface of WASI 0.3.
pub(crate) const OF_WASI_0_3: &str = "is of WASI 0.3";

/// Each by its name, in words for people, and by what the engine says where it is off, in types, in code and in components; tests
/// provoke each.
const FEATURES_OFF: [(Feature, &[&str]); 9] = [
    (
        Feature { name: "wasi_0_3", described: "WASI 0.3 (functions that wait, streams and futures)" },
        &[
            "the component model async",
            "the component model more async builtins",
            "the component model threading",
            "the component model error-context",
            OF_WASI_0_3,
        ],
    ),
    (
        Feature { name: "threads", described: "threads" },
        &["threads must be enabled", "threads support is not enabled", "the shared-everything-threads proposal"],
    ),
    (
        Feature { name: "stack_switching", described: "stack switching" },
        &["when stack switching is disabled", "stack switching support is not enabled"],
    ),
    (
        Feature { name: "garbage_collection", described: "garbage collection (structures and arrays)" },
        &["without the gc feature", "gc support is not enabled", "requires `gc` proposal", "the component model gc"],
    ),
    (
        Feature { name: "function_references", described: "typed function references" },
        &["function references required", "function references support is not enabled"],
    ),
    (
        Feature { name: "custom_page_sizes", described: "custom page sizes" },
        &["the custom page sizes proposal must be enabled"],
    ),
    (Feature { name: "wide_arithmetic", described: "wide arithmetic" }, &["wide arithmetic support is not enabled"]),
    (
        Feature {
            name: "legacy_exceptions",
            described: "exceptions as they were before the standard (now compilers emit those that are in it)",
        },
        &["legacy_exceptions feature required", "legacy exceptions support is not enabled"],
    ),
    (
        Feature { name: "later_components", described: "a component model later than that of WASI 0.2" },
        &["the component model map", "the component model fixed-length lists", "component model `value`s"],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unlike_and_found_again_and_the_page_about_packages_has_them() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/packages.md");
        let page = std::fs::read_to_string(page).unwrap();
        for feature in Feature::all() {
            assert_eq!(Feature::named(feature.name()), Some(feature));
            assert!(
                page.contains(&format!("`{}`", feature.name())),
                "host/docs/packages.md does not name {}",
                feature.name()
            );
        }
        assert_eq!(Feature::named("exceptions"), None);
    }
}
