//! What is refused, as tables: that of `host/docs/limits.md` is made of them, and tests try each row.

/// A kind of well-known credentials, by the shape that its vendor publishes.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it begins with.
    pub prefix: &'static str,
    /// What stands behind that.
    pub rest: Rest,
    /// What it is.
    pub what: &'static str,
}

/// What stands behind the beginning of a token, and how many characters of it there are at least. Words in a row are none.
#[derive(Clone, Copy, Debug)]
pub enum Rest {
    /// Letters, digits, `-` and `_`.
    Mixed(usize),
    /// The same, in parts behind dots; the first is so long.
    Dotted(usize),
    /// Letters and digits.
    Plain(usize),
    /// Hexadecimal digits, so many and no more.
    Hex(usize),
    /// Letters, digits, `+` and `/`, and behind them any `=`.
    Slashed(usize),
    /// Capitals with digits among them, and how many there are at most.
    Capitals(usize, usize),
}

impl Token {
    /// One that nobody has.
    pub fn example(&self) -> String {
        let rest = match self.rest {
            Rest::Mixed(least) | Rest::Dotted(least) | Rest::Plain(least) | Rest::Slashed(least) => "x1".repeat(least),
            Rest::Hex(count) => "a1".repeat(count / 2),
            Rest::Capitals(least, _) => "X1".repeat(least.div_ceil(2)),
        };
        format!("{}{rest}", self.prefix)
    }
}

/// Well-known credentials.
pub const TOKENS: [Token; 48] = [
    Token { prefix: "sk-", rest: Rest::Mixed(16), what: "looks like an API key" },
    Token { prefix: "sk_live_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "sk_test_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "rk_live_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "rk_test_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "pk-", rest: Rest::Mixed(16), what: "looks like an API key" },
    Token { prefix: "pk_live_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "whsec_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "AIza", rest: Rest::Mixed(30), what: "looks like an API key" },
    Token { prefix: "SG.", rest: Rest::Dotted(16), what: "looks like an API key" },
    Token { prefix: "dop_v1_", rest: Rest::Plain(16), what: "looks like an API key" },
    Token { prefix: "gsk_", rest: Rest::Plain(40), what: "looks like an API key" },
    Token { prefix: "xai-", rest: Rest::Mixed(48), what: "looks like an API key" },
    Token { prefix: "r8_", rest: Rest::Plain(37), what: "looks like an API key" },
    Token { prefix: "lin_api_", rest: Rest::Plain(32), what: "looks like an API key" },
    Token { prefix: "ntn_", rest: Rest::Plain(40), what: "looks like a Notion token" },
    Token { prefix: "figd_", rest: Rest::Mixed(32), what: "looks like a Figma token" },
    Token { prefix: "dckr_pat_", rest: Rest::Mixed(20), what: "looks like a Docker token" },
    Token { prefix: "dapi", rest: Rest::Hex(32), what: "looks like a Databricks token" },
    Token { prefix: "shpat_", rest: Rest::Hex(32), what: "looks like a Shopify token" },
    Token { prefix: "shpca_", rest: Rest::Hex(32), what: "looks like a Shopify token" },
    Token { prefix: "shppa_", rest: Rest::Hex(32), what: "looks like a Shopify token" },
    Token { prefix: "shpss_", rest: Rest::Hex(32), what: "looks like a Shopify token" },
    Token { prefix: "ghp_", rest: Rest::Plain(16), what: "looks like a GitHub token" },
    Token { prefix: "gho_", rest: Rest::Plain(16), what: "looks like a GitHub token" },
    Token { prefix: "ghu_", rest: Rest::Plain(16), what: "looks like a GitHub token" },
    Token { prefix: "ghs_", rest: Rest::Plain(16), what: "looks like a GitHub token" },
    Token { prefix: "ghr_", rest: Rest::Plain(16), what: "looks like a GitHub token" },
    Token { prefix: "github_pat_", rest: Rest::Mixed(16), what: "looks like a GitHub token" },
    Token { prefix: "glpat-", rest: Rest::Mixed(16), what: "looks like a GitLab token" },
    Token { prefix: "npm_", rest: Rest::Plain(16), what: "looks like an npm token" },
    Token { prefix: "pypi-", rest: Rest::Mixed(16), what: "looks like a PyPI token" },
    Token { prefix: "hf_", rest: Rest::Plain(16), what: "looks like a Hugging Face token" },
    Token { prefix: "xoxa-", rest: Rest::Mixed(10), what: "looks like a Slack token" },
    Token { prefix: "xoxb-", rest: Rest::Mixed(10), what: "looks like a Slack token" },
    Token { prefix: "xoxp-", rest: Rest::Mixed(10), what: "looks like a Slack token" },
    Token { prefix: "xoxr-", rest: Rest::Mixed(10), what: "looks like a Slack token" },
    Token { prefix: "xoxs-", rest: Rest::Mixed(10), what: "looks like a Slack token" },
    Token { prefix: "xapp-", rest: Rest::Mixed(10), what: "looks like a Slack token" },
    Token { prefix: "hooks.slack.com/services/", rest: Rest::Slashed(40), what: "looks like an address of Slack" },
    Token { prefix: "AccountKey=", rest: Rest::Slashed(86), what: "looks like a key of Azure" },
    Token { prefix: "ya29.", rest: Rest::Dotted(16), what: "looks like a Google token" },
    Token { prefix: "AKIA", rest: Rest::Capitals(16, 16), what: "looks like an AWS access key" },
    Token { prefix: "ASIA", rest: Rest::Capitals(16, 16), what: "looks like an AWS access key" },
    Token { prefix: "AGE-SECRET-KEY-", rest: Rest::Capitals(16, 64), what: "looks like a private key" },
    Token { prefix: "Bearer ", rest: Rest::Dotted(16), what: "looks like a bearer token" },
    Token { prefix: "bearer ", rest: Rest::Dotted(16), what: "looks like a bearer token" },
    Token { prefix: "eyJ", rest: Rest::Dotted(16), what: "looks like a JSON web token" },
];

/// Names whose value is a secret, alone or at the end of a name: behind `_` or `-`, or with a capital.
pub const SECRET_NAMES: [&str; 10] = [
    "token",
    "secret",
    "secret_key",
    "secret_key_base",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "pgpass",
    PWD,
];

/// The one of them that names a folder too, which is no secret.
pub const PWD: &str = "pwd";

/// Endings of names whose value is a secret, whatever stands before them.
pub const SECRET_NAME_ENDINGS: [&str; 4] = ["password", "passwd", "passphrase", "passcode"];

/// Names, or endings of names in the same way, of what is called a token and only says where to go on.
pub const PLACE_NAMES: [&str; 4] = ["page_token", "next_token", "continuation_token", "sync_token"];

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

/// Endings of names that such a file has where it holds none: what is to be filled in, and what is shown on a wall.
pub const HARMLESS_FILES: [&str; 8] = [
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "presentation.key",
    "slides.key",
    "deck.key",
    "keynote.key",
];

/// Folders of such files.
pub const FOLDERS: [&str; 6] = [".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"];

/// Whole paths of such files; `*` is any name.
pub const PATHS: [&str; 10] = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/passwd-",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/task/*/environ",
];

/// What a shell would act on.
pub const SHELL_SYNTAX: [&str; 6] = [";", "|", "`", "&&", "$(", "${"];
