//! What is refused, as tables: the README's is made of them, and tests try each row.

/// The beginnings of well-known credentials, how many more characters make one, and what it is.
pub const TOKENS: [(&str, usize, &str); 35] = [
    ("sk-", 16, "looks like an API key"),
    ("sk_live_", 16, "looks like an API key"),
    ("sk_test_", 16, "looks like an API key"),
    ("rk_live_", 16, "looks like an API key"),
    ("rk_test_", 16, "looks like an API key"),
    ("pk-", 16, "looks like an API key"),
    ("pk_live_", 16, "looks like an API key"),
    ("whsec_", 16, "looks like an API key"),
    ("AIza", 30, "looks like an API key"),
    ("SG.", 16, "looks like an API key"),
    ("dop_v1_", 16, "looks like an API key"),
    ("ghp_", 16, "looks like a GitHub token"),
    ("gho_", 16, "looks like a GitHub token"),
    ("ghu_", 16, "looks like a GitHub token"),
    ("ghs_", 16, "looks like a GitHub token"),
    ("ghr_", 16, "looks like a GitHub token"),
    ("github_pat_", 16, "looks like a GitHub token"),
    ("glpat-", 16, "looks like a GitLab token"),
    ("npm_", 16, "looks like an npm token"),
    ("pypi-", 16, "looks like a PyPI token"),
    ("hf_", 16, "looks like a Hugging Face token"),
    ("xoxa-", 10, "looks like a Slack token"),
    ("xoxb-", 10, "looks like a Slack token"),
    ("xoxp-", 10, "looks like a Slack token"),
    ("xoxr-", 10, "looks like a Slack token"),
    ("xoxs-", 10, "looks like a Slack token"),
    ("xapp-", 10, "looks like a Slack token"),
    ("ya29.", 16, "looks like a Google token"),
    ("AKIA", 16, "looks like an AWS access key"),
    ("ASIA", 16, "looks like an AWS access key"),
    ("AGE-SECRET-KEY-", 16, "looks like a private key"),
    ("Bearer ", 16, "looks like a bearer token"),
    ("bearer ", 16, "looks like a bearer token"),
    ("Basic ", 16, "looks like a password of HTTP"),
    ("eyJ", 16, "looks like a JSON web token"),
];

/// Names whose value is a secret.
pub const SECRET_NAMES: [&str; 6] =
    ["token", "access_token", "api_token", "auth_token", "bearer_token", "refresh_token"];

/// Endings of names whose value is a secret, alone or behind an underscore.
pub const SECRET_NAME_ENDINGS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "api_key", "apikey", "access_key", "private_key"];

/// Endings of files that usually hold secrets.
pub const FILE_ENDINGS: [&str; 11] =
    [".env", ".key", ".pem", ".p8", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdb", ".kdbx"];

/// Names of such files.
pub const FILES: [&str; 15] = [
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".dockercfg",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
];

/// Folders of such files.
pub const FOLDERS: [&str; 6] = [".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"];

/// Whole paths of such files; `*` is any name.
pub const PATHS: [&str; 7] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/task/*/environ",
];

/// What a shell would act on.
pub const SHELL_SYNTAX: [&str; 6] = [";", "|", "`", "&&", "$(", "${"];
