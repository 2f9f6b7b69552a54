//! The host's error codes: one table of string, exit status, meaning and fix. Codes are contracts and are never renamed
//! (rule E8); a golden test holds the table.

macro_rules! codes {
    ($($variant:ident $text:literal $status:literal $meaning:literal $fix:literal;)*) => {
        /// What went wrong, as a word that programs can rely on.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum ErrorCode { $(#[doc = $meaning] $variant,)* }

        impl ErrorCode {
            /// All codes, in the order of their exit statuses.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant),*];

            /// The code as printed: `FUEL_LIMIT`.
            pub const fn text(self) -> &'static str { match self { $(ErrorCode::$variant => $text),* } }

            /// The exit status of a command that ends with this code.
            pub const fn exit_status(self) -> u8 { match self { $(ErrorCode::$variant => $status),* } }

            /// What the code means.
            pub const fn meaning(self) -> &'static str { match self { $(ErrorCode::$variant => $meaning),* } }

            /// What to do about it.
            pub const fn fix(self) -> &'static str { match self { $(ErrorCode::$variant => $fix),* } }
        }
    };
}

codes! {
    GuestFailed "GUEST_FAILED" 1 "the guest ended with a failure of its own; nothing of what it did is kept" "read what it says in details.run; explain-error explains the package's codes";
    LevelNotReached "LEVEL_NOT_REACHED" 1 "a command line breaks rules of the level that was asked for, or they could not be decided" "mend the rules that details.report.fix_first lists, the first first";
    BuildFailed "BUILD_FAILED" 1 "the command that hutch dev was given to build the package failed, or can't be started" "read what it says in details.output, and mend that";
    ExampleFailed "EXAMPLE_FAILED" 1 "an example in the package's contract ended otherwise than the contract states" "look in details.failed at what each did; mend the application, or the example";
    VerifyFailed "VERIFY_FAILED" 1 "re-execution of a ledger entry came to something else than was recorded" "look at the differences; a changed package or host is the usual cause";
    NotReproducible "NOT_REPRODUCIBLE" 1 "a recorded invocation can't be made again here" "use the package and host it was made with, and give the secrets and folders it was given";
    Usage "USAGE" 2 "the command line is not of the form that --help states" "correct the arguments";
    StdinTerminal "STDIN_TERMINAL" 2 "standard input is a terminal, and hutch never waits for one" "pipe the data, or use --stdin-file or --stdin-text";
    StdinLimit "STDIN_LIMIT" 2 "standard input is longer than stdin_bytes" "send less, or raise --limit stdin_bytes";
    ArgumentLimit "ARGUMENT_LIMIT" 2 "arguments and environment are longer than argument_bytes" "send less, or pass the data on standard input";
    ArgumentRefused "ARGUMENT_REFUSED" 2 "an argument looks like a secret, a sensitive path, a path traversal, shell syntax or holds control characters" "change the argument; free text is judged less strictly with --guard text";
    ArgumentInvalid "ARGUMENT_INVALID" 2 "the guest's arguments break the contract that its package declares" "correct them as hutch meta describes the command, or pass --unchecked to let the guest judge";
    PackageInvalid "PACKAGE_INVALID" 2 "the package breaks the rules of its format" "run hutch check on the package and mend what it lists";
    EntryUnsupported "ENTRY_UNSUPPORTED" 2 "entry.command does not name a WebAssembly component" "only wasm: payloads are run; use a runtime for native commands";
    ComponentInvalid "COMPONENT_INVALID" 2 "the payload is not a WebAssembly component that this host can run" "rebuild it for wasm32-wasip2";
    ComponentLimit "COMPONENT_LIMIT" 2 "the component is larger or has more parts than a component may have" "make it smaller, or raise --limit component_bytes";
    RequestInvalid "REQUEST_INVALID" 2 "a request to a server is not of the form that its /openapi.json states" "correct the request: its method, path, headers or body";
    TargetUnsupported "TARGET_UNSUPPORTED" 2 "this program's compiler makes no code for that processor and system" "take one of those that details.targets lists";
    AuthenticationFailed "AUTHENTICATION_FAILED" 10 "the registry wants to know who is calling, or refuses the credentials that are kept for it" "log in with docker login or podman login, then repeat the call";
    AuthenticationRequired "AUTHENTICATION_REQUIRED" 10 "a request to a server came without a token that it knows" "send one of those in the server's token file, as Authorization: Bearer TOKEN";
    PermissionDenied "PERMISSION_DENIED" 11 "the operator did not grant what was asked for, or the system refused access" "grant it, or ask for less";
    PackageNotFound "PACKAGE_NOT_FOUND" 20 "there is no package at this path" "name the folder that holds APP.md, a packed file, or an installed package";
    NotFound "NOT_FOUND" 20 "there is no such thing" "list what there is, and name one of those";
    ConfirmationRequired "CONFIRMATION_REQUIRED" 30 "the package says that this command needs an explicit confirmation" "ask the user, then run it again with --yes before the package";
    InstanceForeign "INSTANCE_FOREIGN" 30 "the state belongs to another package, whatever this one calls itself" "run the package that it belongs to, or take another --instance; --adopt lets this package use the state from now on";
    AlreadyExists "ALREADY_EXISTS" 30 "something of that name is there already" "choose another name, or remove or update what is there";
    PackageChanged "PACKAGE_CHANGED" 30 "an installed package's files are not the ones that were installed" "install the package again from a source that you trust";
    Conflict "CONFLICT" 30 "the state has changed since this command read it" "read the state again and repeat, or use --retry";
    SignatureInvalid "SIGNATURE_INVALID" 30 "a signature of the package is malformed, about something else, or not what its key signed" "do not use the package; ask who signed it";
    SignatureRequired "SIGNATURE_REQUIRED" 30 "a key was named that must have signed the package, and it has not" "name the key of who signs it, or take a package that is signed";
    SignerChanged "SIGNER_CHANGED" 30 "the installed package is by a signer or attester whose statement this version has not" "ask who signs it; name the new key with --key, or drop the signer with --allow-signer-change";
    VersionOlder "VERSION_OLDER" 30 "the update is older than the installed version" "take a newer one; --allow-downgrade takes this one all the same";
    VersionReplaced "VERSION_REPLACED" 30 "the package has the installed version's number and other files" "ask who publishes it; --allow-replaced-version takes it all the same";
    SourceChanged "SOURCE_CHANGED" 30 "the package comes from another place than the installed one of that name" "take it from that place; --allow-source-change hands the state over to this one all the same";
    LockDiffers "LOCK_DIFFERS" 30 "the installed packages are not those that hutch.lock names" "look at what differs; hutch install installs what is locked, hutch install --lock writes down what is installed";
    LockMismatch "LOCK_MISMATCH" 30 "where hutch.lock says a package is to be had there is another one" "ask who publishes it; if it is the right one, install it and write the lock again with hutch install --lock";
    TrustRequired "TRUST_REQUIRED" 30 "less is known of the package's origin than a rule of trust.json asks for" "install it signed, by a key that hutch trust show shows; or ask the user to change the rule with hutch trust add --require";
    RingRequired "RING_REQUIRED" 30 "a call was to run behind rings alone, and this machine has not all that is promised of them" "look at hutch doctor; use Linux 6.12 or later with nothing that keeps seccomp and Landlock from hutch, or ask the user whether --ring auto will do";
    InstanceBusy "INSTANCE_BUSY" 30 "another process kept the state locked for as long as --wait allows" "wait for it to end, then repeat, or raise --wait";
    ServerBusy "SERVER_BUSY" 30 "as many calls are under way or wait as the server takes" "wait for one of them to end, then repeat";
    RequestConflict "REQUEST_CONFLICT" 30 "the Idempotency-Key was given to another request, or its request is still under way" "wait for the first request's answer, or choose a new key for a new request";
    WallTimeLimit "WALL_TIME_LIMIT" 40 "the guest ran longer than wall_time_ms" "give it less work, or raise --limit wall_time_ms";
    CompileTimeLimit "COMPILE_TIME_LIMIT" 40 "the component took longer to compile than compile_time_ms" "make it smaller, or raise --limit compile_time_ms";
    StdinTimeLimit "STDIN_TIME_LIMIT" 40 "standard input brought nothing for as long as --wait allows, and was not closed" "close what writes to it, or raise --wait";
    Cancelled "CANCELLED" 40 "whoever asked for the call cancelled it, or went away, before it ended" "make the call again if it is still wanted";
    FuelLimit "FUEL_LIMIT" 41 "the guest used all its fuel" "give it less work, or raise --limit fuel";
    MemoryLimit "MEMORY_LIMIT" 42 "the guest was refused memory beyond memory_bytes" "give it less work, or raise --limit memory_bytes";
    TableLimit "TABLE_LIMIT" 42 "the guest was refused table elements beyond table_elements" "raise --limit table_elements";
    InstanceLimit "INSTANCE_LIMIT" 42 "the component has more instances, memories or tables than instances" "raise --limit instances";
    StackLimit "STACK_LIMIT" 42 "the guest's calls went deeper than stack_bytes" "give it less deeply nested work, or raise --limit stack_bytes";
    HandleLimit "HANDLE_LIMIT" 42 "the guest held more handles than handles" "close what is not used, or raise --limit handles";
    HostCallLimit "HOST_CALL_LIMIT" 42 "one call carried more than host_call_bytes between guest and host" "pass less at once, or raise --limit host_call_bytes";
    StdoutLimit "STDOUT_LIMIT" 43 "the guest wrote more than stdout_bytes to standard output" "ask for less output, or raise --limit stdout_bytes";
    StderrLimit "STDERR_LIMIT" 43 "the guest wrote more than stderr_bytes to standard error" "ask for less output, or raise --limit stderr_bytes";
    StateBytesLimit "STATE_BYTES_LIMIT" 44 "the guest was refused space beyond state_bytes" "remove something, or raise --limit state_bytes";
    StateFilesLimit "STATE_FILES_LIMIT" 44 "the guest was refused files beyond state_files" "remove something, or raise --limit state_files";
    FileBytesLimit "FILE_BYTES_LIMIT" 44 "the guest was refused a file longer than file_bytes" "split the file, or raise --limit file_bytes";
    FolderDepthLimit "FOLDER_DEPTH_LIMIT" 44 "the guest was refused folders nested more deeply than folder_depth" "nest less, or raise --limit folder_depth";
    GuestTrapped "GUEST_TRAPPED" 45 "the guest stopped on an instruction it may not carry out" "report it to the package's author with the trap's name";
    ContractViolation "CONTRACT_VIOLATION" 46 "the guest exited with 0 but did not print exactly one JSON document, or changed something by a command that says that it only reads" "report it to the package's author; --contract any takes any output, and --unchecked what such a command changes";
    ArtifactInvalid "ARTIFACT_INVALID" 46 "what a registry holds is no package, or not the one that was announced" "take another tag or another registry; if it was pushed by you, push it again";
    HostFault "HOST_FAULT" 50 "the host failed" "look with hutch ledger show whether the call was kept, then repeat it if it was not; if it stays, report it with the message";
    RegistryFailed "REGISTRY_FAILED" 50 "the registry can't be reached, or answers what no registry should" "look at the address and the network, then repeat the call";
    AnswerLost "ANSWER_LOST" 50 "the answer could not be written to the end, or is larger than an answer may be; what the call did stays done" "make room where the answer goes or ask for less, then repeat the call";
    StoreDamaged "STORE_DAMAGED" 50 "stored state does not match its digest or its schema" "restore the instance from a copy";
    CommitUncertain "COMMIT_UNCERTAIN" 50 "the system failed while a change was made durable; the next call shows whether it is kept" "look at the ledger's last entry before anything is repeated";
    StoreTooNew "STORE_TOO_NEW" 50 "the state was written by a newer version of hutch" "use that version or a later one";
}

/// What a code says about the state that the failed call works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Nothing of what it did is kept.
    No,
    /// The failure may have come after the state was kept: `details.kept` says so, and where it is absent nothing is kept.
    Told,
    /// The host could not find out, unless there is a `details.kept`.
    Unknown,
}

impl Kept {
    /// As printed.
    pub const fn text(self) -> &'static str {
        match self {
            Kept::No => "no",
            Kept::Told => "as details.kept says",
            Kept::Unknown => "unknown",
        }
    }
}

impl ErrorCode {
    /// Whether a call that ends with this code may have changed the state.
    pub const fn kept(self) -> Kept {
        match self {
            ErrorCode::AnswerLost | ErrorCode::NotFound => Kept::Told,
            ErrorCode::HostFault | ErrorCode::CommitUncertain => Kept::Unknown,
            _ => Kept::No,
        }
    }

    /// The code with this text.
    pub fn from_text(text: &str) -> Option<ErrorCode> {
        ErrorCode::ALL.iter().copied().find(|code| code.text() == text)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted_by_status() {
        let mut texts: Vec<_> = ErrorCode::ALL.iter().map(|code| code.text()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), ErrorCode::ALL.len());
        assert!(ErrorCode::ALL.is_sorted_by_key(|code| code.exit_status()));
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_text(code.text()), Some(*code));
        }
    }
}
