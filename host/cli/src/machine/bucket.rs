//! The bucket that HUTCH_STORE names. Another process has the sockets and the credentials: see [`reach`](crate::machine::reach).

use std::ffi::OsStr;

/// Whether a setting names a bucket.
pub(crate) fn is_named(setting: &OsStr) -> bool {
    setting.to_str().is_some_and(|text| text.starts_with("s3:"))
}

#[cfg(not(feature = "bucket"))]
pub(crate) use nowhere::{connect, doctored, serve};
#[cfg(feature = "bucket")]
pub(crate) use there::{connect, doctored, listed, serve};

#[cfg(feature = "bucket")]
mod there {
    use crate::answers::DoctorCheck;
    use crate::flags::database::{Connected, VARIABLE, fastest};
    use crate::flags::global::Global;
    use crate::machine::health::check as told;
    use crate::machine::reach::{self, Reached};
    use crate::machine::surroundings;
    use crate::refusal::fault::Fault;
    use hutch::Failure;
    use hutch::instances::Instance;
    use hutch_model::error_code::ErrorCode;
    use hutch_model::error_report::ErrorReport;
    use hutch_store_bucket::{Address, Bucket, Credentials, Opening};
    use std::process::{ExitCode, Stdio};
    use std::sync::Arc;
    use std::time::Duration;

    /// Where a region is asked for and nobody names one.
    const REGION: &str = "us-east-1";

    pub(crate) fn connect(wait: Duration) -> Result<Connected, Fault> {
        started(wait).map(Connected::Bucket)
    }

    /// The bucket, as another process reaches it.
    fn started(wait: Duration) -> Result<Arc<Bucket>, Fault> {
        let mut child = reach::started(Reached::Bucket, wait, (Stdio::piped(), Stdio::piped()))?;
        let (Some(input), Some(output)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(Fault::host("what reaches the bucket has no pipes"));
        };
        Bucket::there(input, output, wait).map_err(|reason| {
            let report = ErrorReport::new(ErrorCode::Usage, format!("{VARIABLE}: {reason}"));
            report
                .suggest("set it as s3://BUCKET/FOLDER, with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if it is not of AWS, AWS_ENDPOINT_URL")
                .into()
        })
    }

    /// The part of a process that reaches a bucket for another: questions on standard input, answers on standard output.
    #[expect(clippy::disallowed_methods, reason = "whoever started this one asks through it")]
    pub(crate) fn serve(global: &Global) -> Result<ExitCode, Fault> {
        let served = hutch_store_bucket::serve(opened(global.wait), std::io::stdin().lock(), std::io::stdout().lock());
        served.map(|()| ExitCode::SUCCESS).map_err(|error| Fault::host(error.to_string()))
    }

    /// What the environment says of it.
    fn opened(wait: Duration) -> Result<(Address, Opening), String> {
        let variable = |name: &str| match surroundings::database_variable(name).map(std::ffi::OsString::into_string) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(_)) => Err(format!("{name} is not UTF-8")),
        };
        let first = |names: [&str; 2]| {
            let [one, two] = names;
            Ok::<_, String>(match variable(one)? {
                Some(value) => Some(value),
                None => variable(two)?,
            })
        };
        let text = variable(VARIABLE)?.ok_or("it is not set")?;
        let endpoint = first(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])?;
        let region = first(["AWS_REGION", "AWS_DEFAULT_REGION"])?;
        let address = Address::parse(&text, endpoint.as_deref(), region.as_deref().unwrap_or(REGION));
        let address = address.map_err(|error| error.to_string())?;
        let missing = |name: &str| format!("{name} is not set");
        let id = variable("AWS_ACCESS_KEY_ID")?.ok_or_else(|| missing("AWS_ACCESS_KEY_ID"))?;
        let secret = variable("AWS_SECRET_ACCESS_KEY")?.ok_or_else(|| missing("AWS_SECRET_ACCESS_KEY"))?;
        let credentials = Credentials { id, secret, token: variable("AWS_SESSION_TOKEN")? };
        Ok((address, Opening { credentials, wait, now: surroundings::now }))
    }

    pub(crate) fn listed(bucket: &Bucket) -> Result<Vec<Instance>, Fault> {
        let known = bucket.instances().map_err(Failure::from)?;
        Ok(known.into_iter().map(|known| Instance { slug: known.slug, name: known.name, bytes: known.bytes }).collect())
    }

    /// Which bucket, how far away, and that it can be a store: which it is asked to prove.
    pub(crate) fn doctored(wait: Duration) -> Vec<DoctorCheck> {
        let looked = started(wait).and_then(|bucket| {
            let mut unused = [0; 16];
            unused.iter_mut().zip(surroundings::random_seed()?.0).for_each(|(to, from)| *to = from);
            bucket.prove(unused).map_err(Failure::from)?;
            let trip = fastest(|| bucket.ping()).map_err(Failure::from)?.as_secs_f64() * 1000.0;
            Ok(format!("{}: puts an object only where there is none, {trip:.1} ms there and back", bucket.at()))
        });
        vec![match looked {
            Ok(found) => told(VARIABLE, "ok", found, None),
            Err(fault) => {
                let (found, fix) = (fault.report().message.clone(), fault.report().suggestion.clone());
                told(VARIABLE, "bad", found, Some(&fix))
            }
        }]
    }
}

/// Without the feature there is no bucket, and who names one is told so.
#[cfg(not(feature = "bucket"))]
mod nowhere {
    use crate::answers::DoctorCheck;
    use crate::flags::database::{Connected, VARIABLE};
    use crate::flags::global::Global;
    use crate::refusal::fault::Fault;
    use std::process::ExitCode;
    use std::time::Duration;

    pub(crate) fn connect(_wait: Duration) -> Result<Connected, Fault> {
        Err(without())
    }

    pub(crate) fn serve(_global: &Global) -> Result<ExitCode, Fault> {
        Err(without())
    }

    pub(crate) fn doctored(_wait: Duration) -> Vec<DoctorCheck> {
        let fault = without();
        let (found, fix) = (fault.report().message.clone(), fault.report().suggestion.clone());
        vec![crate::machine::health::check(VARIABLE, "bad", found, Some(&fix))]
    }

    fn without() -> Fault {
        Fault::usage(format!("{VARIABLE} names a bucket, and this program was built without the feature bucket"))
    }
}
