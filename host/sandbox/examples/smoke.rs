use hutch_model::{invocation::*, limits::*, snapshot::*};
use hutch_sandbox::*;
use std::sync::Arc;
fn main() {
    let mut args = std::env::args().skip(1);
    let wasm = std::fs::read(args.next().unwrap()).unwrap();
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(std::path::Path::new("/tmp/hutch-cache")));
    let limits = Limits::default();
    let program = sandbox.load(&wasm, &limits).unwrap();
    let mut argv = vec!["app".to_string()];
    argv.extend(args);
    let parts = InvocationParts {
        argv,
        clock_start: "2026-04-01T00:00:00Z".parse().unwrap(),
        preopens: [("state".to_string(), Access::ReadWrite)].into(),
        ..Default::default()
    };
    for _ in 0..3 {
        let inv = Invocation::new(parts.clone()).unwrap();
        let run = run(&program, &inv, &Default::default(), Arc::new(MemoryObjects::default()));
        match run {
            Ok(run) => {
                println!("{}", String::from_utf8_lossy(&run.outcome.stdout));
                eprintln!("{}", String::from_utf8_lossy(&run.outcome.stderr));
                let mut o = run.outcome.clone();
                o.stdout.clear();
                o.stderr.clear();
                println!("{:?} {:?} {:?}", o, run.measured, run.after.volumes);
            }
            Err(e) => println!("ERR {e:?}"),
        }
    }
}
