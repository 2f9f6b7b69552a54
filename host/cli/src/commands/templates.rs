//! What `init` makes, as data: for each language the files of a package and of the source of its component. One application, the same in
//! each. It knows no name but `SLUG`, which stands for that of the package. And what of it a package still says that became something else.

use clap::ValueEnum;
use hutch::package::Package;
use hutch_model::diagnostic::{Code, Diagnostic, Position};
use hutch_model::manifest::MANIFEST_FILE;
use hutch_model::names::{PackagePath, Slug};
use std::borrow::Cow;

/// A path in the new folder, and the file there.
pub(super) type File = (&'static str, &'static [u8]);

/// What a component can be written in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Language {
    Rust,
    Python,
    Javascript,
    C,
    Go,
}

macro_rules! template {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../template/", $folder, "/", $path)) as &[u8])),*]
    };
}

/// Files of the repository's `wit`, which no registry has.
macro_rules! wit {
    ($($path:literal),* $(,)?) => {
        &[$((concat!("guest/wit/", $path), include_bytes!(concat!("../../../../wit/", $path)) as &[u8])),*]
    };
}

const MANIFEST: &[File] = template!["shared": "package/APP.md"];

/// With time to compile a component of many megabytes.
const LARGE_MANIFEST: &[File] = template!["large": "package/APP.md"];

/// What every package says to agents.
const GUIDANCE: &[File] = template!["shared":
    "package/AGENTS.md",
    "package/CHANGELOG.md",
    "package/agent/brief.md",
    "package/agent/rules/trigger.md",
    "package/agent/rules/workflow.md",
    "package/agent/rules/writeback.md",
    "package/skills/usage/SKILL.md",
];

/// Of the languages whose components do not describe themselves.
const CONTRACT: &[File] = template!["shared": "package/schemas/commands.json"];

/// What their editors hold it against, as its `$schema` says.
const CONTRACT_SCHEMA: &[File] = &[("commands.schema.json", super::meta::SCHEMA.as_bytes())];

const RUST: &[File] = template!["rust":
    "package/app/app.wasm",
    "package/schemas/commands.json",
    "guest/README.md",
    "guest/.gitignore",
    "guest/Cargo.toml",
    "guest/Cargo.lock",
    "guest/src/main.rs",
];

const PYTHON: &[File] = template!["python":
    "guest/README.md",
    "guest/.gitignore",
    "guest/app.py",
    "guest/notes.py",
    "guest/test_notes.py",
    "guest/wit/world.wit",
];

const JAVASCRIPT: &[File] = template!["javascript":
    "guest/README.md",
    "guest/.gitignore",
    "guest/package.json",
    "guest/app.js",
    "guest/notes.js",
    "guest/notes.test.js",
    "guest/wit/world.wit",
];

const C: &[File] = template!["c":
    "guest/README.md",
    "guest/.gitignore",
    "guest/Makefile",
    "guest/main.c",
    "guest/notes.c",
    "guest/notes.h",
    "guest/test.c",
];

const GO: &[File] = template!["go": "guest/README.md", "guest/go.mod", "guest/main.go", "guest/main_test.go"];

const WASI: &[File] = wit![
    "deps/cli.wit",
    "deps/clocks.wit",
    "deps/filesystem.wit",
    "deps/io.wit",
    "deps/random.wit",
    "deps/sockets.wit"
];

/// The guest library, whole, as its README says.
const LIBRARY: &[File] = wit![
    "hutch.wit",
    "guest/Cargo.toml",
    "guest/README.md",
    "guest/clippy.toml",
    "guest/src/answer.rs",
    "guest/src/application.rs",
    "guest/src/argv.rs",
    "guest/src/argv/tests.rs",
    "guest/src/batch.rs",
    "guest/src/calendar.rs",
    "guest/src/component.rs",
    "guest/src/contract.rs",
    "guest/src/document.rs",
    "guest/src/failure.rs",
    "guest/src/folder.rs",
    "guest/src/guidance.rs",
    "guest/src/help.rs",
    "guest/src/input.rs",
    "guest/src/lib.rs",
    "guest/src/new_files.rs",
    "guest/src/row.rs",
    "guest/src/schema.rs",
    "guest/src/sqlite.rs",
    "guest/src/standard.rs",
    "guest/src/start.rs",
    "guest/src/storage.rs",
    "guest/src/table.rs",
    "guest/src/testing.rs",
    "guest/src/text.rs",
    "guest/src/value.rs",
    "guest/tests/application.rs",
    "guest/tests/folder.rs",
    "guest/tests/new_files.rs",
    "guest/tests/sqlite.rs",
    "guest-derive/Cargo.toml",
    "guest-derive/clippy.toml",
    "guest-derive/src/choice.rs",
    "guest-derive/src/command.rs",
    "guest-derive/src/lib.rs",
    "guest-derive/src/row.rs",
];

impl Language {
    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::Javascript => "javascript",
            Language::C => "c",
            Language::Go => "go",
        }
    }

    /// Every file that is made.
    pub(super) fn files(self) -> impl Iterator<Item = &'static File> {
        let parts: &[&[File]] = match self {
            Language::Rust => &[MANIFEST, GUIDANCE, RUST, WASI, LIBRARY],
            Language::Python => &[LARGE_MANIFEST, GUIDANCE, CONTRACT, CONTRACT_SCHEMA, PYTHON, WASI],
            Language::Javascript => &[LARGE_MANIFEST, GUIDANCE, CONTRACT, CONTRACT_SCHEMA, JAVASCRIPT, WASI],
            Language::C => &[MANIFEST, GUIDANCE, CONTRACT, CONTRACT_SCHEMA, C],
            Language::Go => &[LARGE_MANIFEST, GUIDANCE, CONTRACT, CONTRACT_SCHEMA, GO],
        };
        parts.iter().copied().flatten()
    }

    /// The commands that build the component, run in `guest`: the first block of its README. None where the package comes with one.
    pub(super) fn build(self) -> Option<Vec<&'static str>> {
        let comes_with_one = self.files().any(|(path, _)| *path == COMPONENT);
        let (_, readme) = self.files().find(|(path, _)| *path == "guest/README.md")?;
        let block = std::str::from_utf8(readme).ok()?.split("```").nth(1)?;
        Some(block.lines().skip(1).collect()).filter(|_| !comes_with_one)
    }
}

/// Where the component is, or will be.
const COMPONENT: &str = "package/app/app.wasm";

/// A file's content in a package of this name.
pub(super) fn named(content: &'static [u8], slug: &Slug) -> Cow<'static, [u8]> {
    match std::str::from_utf8(content) {
        Ok(text) => text.replace("SLUG", slug.as_str()).into_bytes().into(),
        Err(_) => content.into(),
    }
}

/// What tells agents about the example, and is true of no other application.
const TOLD: [&str; 4] =
    ["agent/brief.md", "agent/rules/trigger.md", "agent/rules/workflow.md", "skills/usage/SKILL.md"];

/// What a package still says of the example, as `init` wrote it: its description, and files for agents that nobody has touched.
pub(super) fn left(package: &Package) -> Option<Diagnostic> {
    let manifest = package.manifest();
    let example = |path: &str| {
        let (_, content) = Language::Rust.files().find(|(made, _)| made.strip_prefix("package/") == Some(path))?;
        Some(named(content, manifest.slug()))
    };
    let is_described = example(MANIFEST_FILE).is_some_and(|text| {
        let text = String::from_utf8_lossy(&text);
        text.lines().any(|line| line.strip_prefix("description: ") == Some(manifest.description()))
    });
    let is_left = |path: &&str| {
        let found = PackagePath::parse(path).ok().and_then(|path| package.read(&path).ok());
        found.is_some_and(|found| example(path).as_deref() == Some(found.as_slice()))
    };
    let files: Vec<&str> = TOLD.into_iter().filter(is_left).collect();
    let (file, at) = match is_described {
        true => (MANIFEST_FILE, manifest.position("/description")),
        false => (*files.first()?, Position::START),
    };
    let said: Vec<&str> = is_described.then_some("the description").into_iter().chain(files).collect();
    let message = format!("as hutch init wrote it for its example: {}", said.join(", "));
    Some(Diagnostic::new(Code::ExampleLeft, file, at, message))
}
