//! `hutch serve`: packages, served over HTTP.

use super::served::{Options, TelemetryArguments, ToolsArguments, served_fault, serving, unconfirmed};
use crate::answer::output::{Format, Output};
use crate::answers::ServeAnswer;
use crate::call::invocation::{Asked, parse_limit, parse_mount};
use crate::commands::tokens;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch_model::limits::{Limit, Unit};
use hutch_serve::ServeError;
use hutch_serve::http::{Bounds, Http};
use hutch_store::InstanceName;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Where to listen; port 0 takes any that is free, and the answer says which
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8645", value_parser = parse_listen)]
    listen: SocketAddr,
    /// The file of tokens, a name, scopes and a token on each line; else serve.tokens in the home, made if it is missing
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// An origin of a proxy under which the server is known, as https://hutch.example; may be repeated
    #[arg(long = "origin", value_name = "URL", value_parser = parse_origin)]
    origins: Vec<String>,
    /// Print the description of the API (OpenAPI 3.1), and serve nobody
    #[arg(long)]
    print: bool,
    /// The instance of each package that is worked on
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// Set a limit for every call; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
    #[command(flatten)]
    tools: ToolsArguments,
    /// Grant a real folder to the packages that ask for it; :rw to write
    #[arg(long = "mount", value_name = "DIR:NAME[:ro|rw|rwx]", value_parser = parse_mount)]
    mounts: Vec<Asked>,
    /// The most bytes of a request's body
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = parse_size)]
    body_max: u64,
    /// The longest that a request may take to come, its head and its body, and an answer to be read
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    sent_within: Duration,
    /// How long what is under way may go on when the server is told to end
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    end_within: Duration,
    /// The most connections at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    connections_max: u16,
    #[command(flatten)]
    told: TelemetryArguments,
    /// What to serve; all installed packages if absent
    #[arg(value_name = "PACKAGE")]
    packages: Vec<PathBuf>,
}

/// A port alone is one of this machine.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse::<u16>().ok().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    port.map_or_else(|| text.parse(), Ok)
        .map_err(|_| "expected a port, or an address with one, as 127.0.0.1:8645".to_owned())
}

fn parse_origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let is_host = |one: char| one.is_ascii_alphanumeric() || "-.:[]".contains(one);
    let begins = host.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[');
    // Browsers leave the usual port out.
    let usual = if text.starts_with("https:") { ":443" } else { ":80" };
    match begins && host.chars().all(is_host) {
        true => Ok(text.strip_suffix(usual).unwrap_or(text).to_owned()),
        false => Err("expected http:// or https://, a host and perhaps a port, and nothing behind it".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    let most = 64 << 20;
    let size = Unit::Bytes.parse(text).filter(|size| (1..=most).contains(size));
    size.ok_or_else(|| format!("expected {} of at most 64MiB", Unit::Bytes.expected()))
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(600);
    let time =
        Unit::Milliseconds.parse(text).map(Duration::from_millis).filter(|time| !time.is_zero() && *time <= most);
    time.ok_or_else(|| format!("expected {} of at most 10m", Unit::Milliseconds.expected()))
}

pub(crate) fn serve(global: &Global, own: &ServeArguments, output: &Output) -> Result<ExitCode, Fault> {
    if own.print {
        let result = ServeAnswer { openapi: Some(hutch_serve::http::described()), ..ServeAnswer::default() };
        return output.answer("serve", result, human::fields);
    }
    unconfirmed(global)?;
    if !own.listen.ip().is_loopback() && own.origins.is_empty() {
        let message = format!("{} can be reached from other machines, under a name that is not known here", own.listen);
        return Err(Fault::usage(message).suggest("say with --origin under which address a browser reaches it"));
    }
    let (tools, mounts) = (&own.tools, own.mounts.as_slice());
    let options = Options { instance: &own.instance, limits: &own.limits, tools, mounts, told: Some(&own.told) };
    let serving = serving(global, &own.packages, &options)?;
    let token_file = match &own.token_file {
        Some(path) => path.clone(),
        None => {
            let path = surroundings::home(global)?.join(tokens::FILE);
            if !global.dry_run {
                tokens::make(&path)?;
            } else if !packages::is_there(&path) {
                let message = format!("a preview makes no tokens, and there are none at {}", path.display());
                return Err(Fault::usage(message)
                    .suggest("name a file of tokens with --token-file, or leave --dry-run out once"));
            }
            path
        }
    };
    let bounds = Bounds {
        body_bytes_max: usize::try_from(own.body_max).unwrap_or(usize::MAX),
        sent_within: own.sent_within,
        connections_max: usize::from(own.connections_max),
        ended_within: own.end_within,
    };
    let http = Http {
        listen: own.listen,
        tokens: tokens::read(&token_file, global.wait)?,
        // It is for the person who looks on, and in no file.
        link: std::io::stderr().is_terminal() && !global.quiet,
        origins: own.origins.clone(),
        bounds,
    };
    let slugs = serving.packages.iter().map(|served| served.package.manifest().slug().to_string());
    let slugs: Vec<String> = slugs.collect();
    // Who starts a server on a terminal is going to read how to reach it.
    if std::io::stdout().is_terminal() && !global.agent && !output.shaping.selects() {
        output.format.set(Format::Human);
    }
    let ready = |address: SocketAddr, link: Option<&str>| {
        let result = ServeAnswer {
            url: Some(format!("http://{address}")),
            token_file: Some(token_file.display().to_string()),
            packages: Some(slugs.clone()),
            openapi: None,
        };
        let told = human::sentence(&[
            "serving {packages} at {url}",
            "\na browser asks for a password, which is any of the tokens in {token_file}",
            "\nit ends with ctrl-c",
        ]);
        let told = output.answer("serve", result, told);
        told.map_err(|fault| ServeError::System(fault.report().message.clone()))?;
        if let Some(link) = link {
            output.remark(&format!("to sign in, once and within five minutes, open {link}"));
        }
        Ok(())
    };
    hutch_serve::http::serve(&serving, http, ready).map_err(served_fault)?;
    Ok(ExitCode::SUCCESS)
}
