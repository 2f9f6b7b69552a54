//! What is wrong with a package, where, and what to do about it. Problems are data: nothing here stops, prints or decides.
//! Knows no file system and no format; the readers of `manifest`, `skill` and `contract` report through it.

use std::fmt;

/// How much a problem matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The package cannot be used until this is mended.
    Error,
    /// The package can be used; its author should know.
    Warning,
}

macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $meaning:literal $fix:literal;)*) => {
        /// What kind of problem it is, as a word that programs can rely on.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $meaning] $variant,)* }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The code as printed: `FIELD_MISSING`.
            pub const fn text(self) -> &'static str { match self { $(Code::$variant => $text),* } }

            /// How much problems of this kind matter.
            pub const fn severity(self) -> Severity { match self { $(Code::$variant => Severity::$severity),* } }

            /// What the code means.
            pub const fn meaning(self) -> &'static str { match self { $(Code::$variant => $meaning),* } }

            /// What to do about it.
            pub const fn fix(self) -> &'static str { match self { $(Code::$variant => $fix),* } }
        }
    };
}

codes! {
    // Files and folders.
    FileMissing "FILE_MISSING" Error "a file that the package needs is not there" "add the file, or correct what names it";
    FolderMissing "FOLDER_MISSING" Error "a folder that the package needs is not there" "add the folder";
    FileUnreadable "FILE_UNREADABLE" Error "the system refused to read a file or folder of the package" "check its permissions and its file system";
    FileTooLarge "FILE_TOO_LARGE" Error "a file is larger than a file of its kind may be" "make it smaller";
    NotAFile "NOT_A_FILE" Error "something other than a regular file stands where a file is needed" "replace it by a regular file";
    NotAFolder "NOT_A_FOLDER" Error "something other than a folder stands where a folder is needed" "replace it by a folder";
    SpecialFile "SPECIAL_FILE" Error "the package holds a pipe, a socket or a device" "remove it";
    LinkRefused "LINK_REFUSED" Error "a symbolic link leaves the package, leads to a folder or leads nowhere" "replace it by a copy of what it names";
    NameNotPortable "NAME_NOT_PORTABLE" Error "a file name cannot exist on every system" "rename the file";
    TooManyFiles "TOO_MANY_FILES" Error "the package holds more files than a package may" "move what the application does not need out of the package";
    TooDeep "TOO_DEEP" Error "folders are nested deeper than in a package they may be" "flatten the folders";
    PackageTooLarge "PACKAGE_TOO_LARGE" Error "the files of the package are larger together than a package may be" "move what the application does not need out of the package";
    ArchiveInvalid "ARCHIVE_INVALID" Error "the packed file is no tar archive of files and folders, or not all of it" "pack the folder again with hutch pack";
    // Text.
    NotUtf8 "NOT_UTF8" Error "the file is not UTF-8 text" "save it as UTF-8";
    ByteOrderMark "BYTE_ORDER_MARK" Error "the file begins with a byte order mark, which hides the opening ---" "save it as UTF-8 without a byte order mark";
    ControlCharacter "CONTROL_CHARACTER" Error "the text holds a character that has no visible form or that changes the order of others" "remove the character";
    CarriageReturns "CARRIAGE_RETURNS" Warning "lines end with CR LF, so the file's digest depends on the system it was saved on" "save it with LF line ends";
    FrontMatterMissing "FRONT_MATTER_MISSING" Error "the first line is not ---" "begin the file with --- on a line of its own";
    FrontMatterUnclosed "FRONT_MATTER_UNCLOSED" Error "no second --- ends the front matter" "end the front matter with --- on a line of its own";
    FrontMatterTooLarge "FRONT_MATTER_TOO_LARGE" Error "the front matter is larger than front matter may be" "move prose below the closing ---";
    BodyEmpty "BODY_EMPTY" Warning "nothing follows the front matter" "describe below it what a reader needs to know";
    // YAML and JSON.
    YamlSyntax "YAML_SYNTAX" Error "the front matter is not well-formed YAML" "mend the line, or put the value in quotes";
    YamlTab "YAML_TAB" Error "a line of the front matter is indented with a tab" "indent with spaces";
    YamlAlias "YAML_ALIAS" Error "the front matter uses an anchor, an alias or a merge key" "write the value out where it is needed";
    YamlTag "YAML_TAG" Error "the front matter uses a tag that only some programs understand" "remove the tag";
    YamlDocuments "YAML_DOCUMENTS" Error "the front matter holds more than one document" "keep one document between the --- lines";
    YamlKey "YAML_KEY" Error "a key is not text" "put the key in quotes";
    JsonSyntax "JSON_SYNTAX" Error "the file is not well-formed JSON" "mend the place named";
    DataTooDeep "DATA_TOO_DEEP" Error "lists and mappings are nested deeper than they may be" "flatten the data";
    DataTooLarge "DATA_TOO_LARGE" Error "there are more values than there may be" "shorten the data";
    DuplicateKey "DUPLICATE_KEY" Error "a key appears twice in one mapping" "keep one of the two";
    TooManyProblems "TOO_MANY_PROBLEMS" Error "the file has more problems than are listed" "mend those listed first";
    // Fields.
    FieldMissing "FIELD_MISSING" Error "a required field is absent" "add the field";
    FieldRecommended "FIELD_RECOMMENDED" Warning "a recommended field is absent" "add the field";
    FieldType "FIELD_TYPE" Error "a value has another type than its field" "write a value of the type named";
    FieldEmpty "FIELD_EMPTY" Error "a value is empty" "fill it in, or remove the field if it is optional";
    FieldTooLong "FIELD_TOO_LONG" Error "a value is longer than its field allows" "shorten it";
    FieldUnknown "FIELD_UNKNOWN" Error "a key is unknown where only known keys are allowed" "correct the key, or remove it";
    FieldSimilar "FIELD_SIMILAR" Warning "an unknown key, kept but without effect, looks like a known one" "correct the key if the known one is meant";
    FieldMisspelled "FIELD_MISSPELLED" Error "an unknown key looks like confirmationRequired, without which commands run unconfirmed" "write confirmationRequired, or rename the key";
    ValueInvalid "VALUE_INVALID" Error "a value is none of those that its field allows" "use one of the values named";
    ItemDuplicate "ITEM_DUPLICATE" Error "a list names the same thing twice" "remove one of the two";
    NotAgentApplicationsV1 "NOT_AGENTAPPLICATIONS_V1" Error "the file is an APP.md of another kind or version than agentapplications/v1" "write it as agentapplications/v1 says, or use a runtime for its own format";
    SlugInvalid "SLUG_INVALID" Error "the slug cannot be used as an identity on every system" "use lower-case words of a-z and 0-9 joined by -";
    VersionInvalid "VERSION_INVALID" Error "the version is not a semantic version" "write it as MAJOR.MINOR.PATCH";
    CommandInvalid "COMMAND_INVALID" Error "a command path is not words separated by single spaces" "name the command as it is typed, without parameters";
    ConfirmationUnknown "CONFIRMATION_UNKNOWN" Error "confirmationRequired names a command that commands does not" "name a command that is listed";
    SchedulingUndocumented "SCHEDULING_UNDOCUMENTED" Warning "scheduling is supported, but APP.md does not say which commands are about it" "name the commands in backticks in a section whose heading holds the word scheduling";
    EntryUnsupported "ENTRY_UNSUPPORTED" Error "entry.command is not a wasm: payload, and only wasm: payloads are run" "write wasm:FILE.wasm with a file in app/, or use a runtime for native commands";
    EntryInvalid "ENTRY_INVALID" Error "entry.command names no usable component or is not plain words" "write wasm:FILE.wasm, then leading arguments, quoted where they hold spaces";
    PathInvalid "PATH_INVALID" Error "a path is not a clean relative path that every system can hold" "write it as NAME or NAME/NAME";
    PathOverlap "PATH_OVERLAP" Error "two declared paths are the same or one holds the other, or state covers the application's own files" "keep each in a folder of its own";
    EnvironmentInvalid "ENVIRONMENT_INVALID" Error "the name cannot name an environment variable" "use letters, digits and _, not beginning with a digit";
    LimitUnknown "LIMIT_UNKNOWN" Error "there is no limit of this name" "use a limit from the table in the documentation";
    LimitInvalid "LIMIT_INVALID" Error "the value is no positive amount in the unit of its limit" "write a positive whole number, a size like 64MiB or a duration like 2s";
    LimitAboveCeiling "LIMIT_ABOVE_CEILING" Warning "the package asks for more than a package can get" "ask for no more than the ceiling";
    // Skills.
    SkillNameInvalid "SKILL_NAME_INVALID" Error "a skill's name is not one that the Agent Skills rules allow" "use lower-case words of a-z and 0-9 joined by -, 64 characters at most";
    SkillMissing "SKILL_MISSING" Error "a listed skill has no SKILL.md" "add skills/NAME/SKILL.md, or take the name off the list";
    SkillNameMismatch "SKILL_NAME_MISMATCH" Error "the name in SKILL.md is not the name of its folder" "make them equal";
    SkillUnlisted "SKILL_UNLISTED" Warning "skills/ holds a skill that APP.md does not list" "list it under skills, or remove the folder";
    // Payload.
    PayloadEmpty "PAYLOAD_EMPTY" Error "the payload is an empty file" "build the component again";
    PayloadNative "PAYLOAD_NATIVE" Error "the payload is machine code for one system" "build it for wasm32-wasip2";
    PayloadScript "PAYLOAD_SCRIPT" Error "the payload is a script" "compile it, with its interpreter, to a component";
    PayloadText "PAYLOAD_TEXT" Error "the payload is WebAssembly text, not binary" "translate it to binary";
    PayloadVersion "PAYLOAD_VERSION" Error "the payload is WebAssembly of a version or layer that is not run" "rebuild it with a current toolchain";
    PayloadUnknown "PAYLOAD_UNKNOWN" Error "the payload is not WebAssembly" "build the component again";
    ComponentUnusable "COMPONENT_UNUSABLE" Error "the component cannot be compiled, linked or asked to describe itself" "rebuild it for wasm32-wasip2";
    // Contract.
    ContractMissing "CONTRACT_MISSING" Warning "the component describes its commands, but the package has no schemas/commands.json to read without running it" "generate schemas/commands.json from the component";
    ContractForeign "CONTRACT_FOREIGN" Warning "schemas/commands.json is of the package's own kind, so commands are not judged before they run" "write \"schema\": \"hutch/commands@0.1\" if it is meant to be read, or leave it";
    ContractSchema "CONTRACT_SCHEMA" Error "schemas/commands.json is of another form or version than hutch/commands@0.1" "write \"schema\": \"hutch/commands@0.1\"";
    ContractInvalid "CONTRACT_INVALID" Error "the description of the commands contradicts itself or its rules" "mend the place named";
    ContractDiffers "CONTRACT_DIFFERS" Error "the package's file and the component describe the commands differently" "generate schemas/commands.json from the component";
    ContractManifest "CONTRACT_MANIFEST" Error "schemas/commands.json and APP.md disagree" "make the two say the same";
    // What init begins with.
    ExampleLeft "EXAMPLE_LEFT" Warning "the package says of itself what hutch init wrote about its example, and find, catalog and agents believe it" "say what this application does";
}

impl Code {
    /// The code with this text.
    pub fn from_text(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.text() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// A place in a text file. Both numbers count from 1; a column counts characters (Unicode scalar values).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl Position {
    /// The first character of a file: where problems of the whole file are reported.
    pub const START: Position = Position { line: 1, column: 1 };

    /// The place of the byte at `offset` in `text`, whose lines end with LF.
    pub(crate) fn of_offset(text: &str, offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: count(before.matches('\n').count() + 1),
            column: count(before.get(line_start..).unwrap_or_default().chars().count() + 1),
        }
    }
}

/// A count as a line or column number. Files are far shorter than 2^32.
pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// One problem.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind of problem.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// The file, relative to the package's root, separated by `/`.
    pub file: String,
    /// The line in the file, from 1.
    pub line: u32,
    /// The character in the line, from 1.
    pub column: u32,
    /// What is wrong: lower case, no full stop, names the value and what was expected.
    pub message: String,
    /// What to write instead, when that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// A problem at a place in a file.
    pub fn new(code: Code, file: impl Into<String>, at: Position, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity(),
            file: file.into(),
            line: at.line,
            column: at.column,
            message: message.into(),
            suggestion: None,
        }
    }

    /// The same problem with what to write instead.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Diagnostic {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Whether the package cannot be used because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it is about the file rather than a place in it.
    pub fn is_whole_file(&self) -> bool {
        (Position { line: self.line, column: self.column }) == Position::START
    }

    fn key(&self) -> (&str, u32, u32, &str, &str) {
        (&self.file, self.line, self.column, self.code.text(), &self.message)
    }
}

impl fmt::Display for Diagnostic {
    /// The form for people, one line: `APP.md:3:7: error: … [FIELD_TYPE]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}:{}: {severity}: {} [{}]", self.file, self.line, self.column, self.message, self.code)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; {suggestion}"),
            None => Ok(()),
        }
    }
}

/// Puts problems in the order in which they are shown: by file, line and column.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| a.key().cmp(&b.key()));
}

/// The problems of one file, as a reader finds them; bounded, so that a hostile file cannot make a long list.
#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    found: Vec<Diagnostic>,
    suggestions: usize,
}

/// The most names of one file for which a known name is looked for: that costs more than all the rest.
const SUGGESTIONS_MAX: usize = 20;

/// The most problems listed for one file.
pub(crate) const PROBLEMS_MAX: usize = 200;

impl Problems {
    pub(crate) fn new(file: &str) -> Problems {
        Problems { file: file.to_owned(), found: Vec::new(), suggestions: 0 }
    }

    /// Whether one more name may be looked for among the known ones.
    pub(crate) fn may_suggest(&mut self) -> bool {
        self.suggestions += 1;
        self.suggestions <= SUGGESTIONS_MAX
    }

    /// Reports a problem.
    pub(crate) fn report(&mut self, code: Code, at: Position, message: impl Into<String>) {
        self.push(Diagnostic::new(code, self.file.clone(), at, message));
    }

    /// Reports a problem together with what to write instead.
    pub(crate) fn report_with(&mut self, code: Code, at: Position, message: impl Into<String>, suggestion: String) {
        self.push(Diagnostic::new(code, self.file.clone(), at, message).suggest(suggestion));
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < PROBLEMS_MAX {
            self.found.push(diagnostic);
        } else if self.found.len() == PROBLEMS_MAX {
            let at = Position { line: diagnostic.line, column: diagnostic.column };
            let message = format!("more than {PROBLEMS_MAX} problems, the rest are not listed");
            self.found.push(Diagnostic::new(Code::TooManyProblems, self.file.clone(), at, message));
        }
    }

    /// Whether more problems would no longer be listed, so that looking for them is idle.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() > PROBLEMS_MAX
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }

    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        sort(&mut self.found);
        self.found
    }
}

/// The most characters of a value or a name.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// A value from outside as a message shows it: in quotes, shortened, with nothing that a terminal would act on.
pub(crate) fn shown(value: &str) -> String {
    quoted(value, SHOWN_CHARACTERS_MAX)
}

/// A sentence from outside in a message of ours: as [`shown`], with room for all of most sentences.
pub(crate) fn shown_sentence(value: &str) -> String {
    const SENTENCE_CHARACTERS_MAX: usize = 240;
    quoted(value, SENTENCE_CHARACTERS_MAX)
}

/// One of the names that the package gives, as a message lists it: what could be more than a name is in quotes.
pub(crate) fn shown_name(value: &str) -> String {
    let is_of_name = |c: char| c.is_alphanumeric() || "-_.:/+@".contains(c);
    match !value.is_empty() && value.chars().all(is_of_name) {
        true => {
            let (name, dots) = beginning(value, SHOWN_CHARACTERS_MAX);
            format!("{name}{dots}")
        }
        false => shown(value),
    }
}

/// What others wrote where a reason of ours repeats it, such as a library's message with a whole document in it: its beginning.
pub fn short(text: &str) -> String {
    const REPEATED_CHARACTERS_MAX: usize = 200;
    let (text, dots) = beginning(text, REPEATED_CHARACTERS_MAX);
    format!("{text}{dots}")
}

fn quoted(value: &str, characters_max: usize) -> String {
    let (value, dots) = beginning(value, characters_max);
    format!("{value:?}{dots}")
}

/// So many characters of a text, and what stands for the rest.
fn beginning(text: &str, characters_max: usize) -> (&str, &'static str) {
    match text.char_indices().nth(characters_max) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), "…"),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_found_by_their_text() {
        for code in Code::ALL {
            assert_eq!(Code::from_text(code.text()), Some(*code));
            assert!(!code.meaning().ends_with('.') && !code.fix().ends_with('.'), "{code}");
        }
    }

    #[test]
    fn a_column_counts_characters() {
        let text = "añ\n日本x";
        let at = text.find('x').unwrap_or_default();
        assert_eq!(Position::of_offset(text, at), Position { line: 2, column: 3 });
        assert_eq!(Position::of_offset(text, text.len()), Position { line: 2, column: 4 });
        assert_eq!(Position::of_offset("", 0), Position::START);
    }

    #[test]
    fn a_list_of_problems_is_bounded_and_says_so() {
        let mut problems = Problems::new("f");
        for _ in 0..PROBLEMS_MAX * 3 {
            problems.report(Code::DuplicateKey, Position::START, "again");
        }
        let found = problems.into_sorted();
        assert_eq!(found.len(), PROBLEMS_MAX + 1);
        assert!(found.iter().any(|problem| problem.code == Code::TooManyProblems));
    }

    #[test]
    fn what_is_shown_is_short_and_inert() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b"), r#""a\u{1b}[2J\u{202e}b""#);
        assert!(shown(&"x".repeat(10_000)).len() < 80);
    }
}
