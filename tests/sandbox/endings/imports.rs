//! What a component may import and must export, by name and version; and what is there only to say no.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::wat_guest::{WatGuest, wat};
use crate::support::{parts, probe, run_parts, sandbox, saw};
use hutch_model::error_code::ErrorCode;
use hutch_model::limits::{Limit, Limits};

fn refused(bytes: &[u8]) -> (ErrorCode, String) {
    match sandbox().load(bytes, &Limits::default()) {
        Ok(_) => panic!("it was loaded"),
        Err(error) => {
            saw("refused");
            (error.code(), error.to_string())
        }
    }
}

/// Reads the clock, and fails if it is not at its start.
fn clock(version: &str) -> WatGuest {
    WatGuest {
        imports: format!(
            "(import \"wasi:clocks/monotonic-clock@{version}\" (instance $clock (export \"now\" (func (result u64)))))"
        ),
        lowered: vec![("now", "$clock \"now\"")],
        core: "(import \"host\" \"now\" (func $now (result i64)))
               (func (export \"run\") (result i32) (i64.ne (call $now) (i64.const 0)))"
            .to_owned(),
        export: format!("wasi:cli/run@{version}"),
        ..WatGuest::default()
    }
}

#[test]
fn every_version_of_wasi_0_2() {
    let versions: Vec<String> = (0..=12).map(|patch| format!("0.2.{patch}")).collect();
    let cases = versions.iter().map(|version| Case::wat(version, &clock(version), exited(0)));
    check(&cases.collect::<Vec<_>>());
    for version in ["0.1.0", "0.3.0", "1.0.0", "0.2.0-rc-2023-11-10"] {
        let (code, message) = refused(&clock(version).bytes());
        assert_eq!(code, ErrorCode::ComponentInvalid, "{version}: {message}");
        assert!(message.contains("wasi:"), "{version}: {message}");
    }
}

#[test]
fn imports_that_are_not_here_are_named() {
    let function = "(func)";
    let cases = [
        (
            format!("(import \"wasi:keyvalue/store@0.2.0\" (instance (export \"open\" {function})))"),
            "wasi:keyvalue/store@0.2.0",
        ),
        (format!("(import \"acme:bank/pay\" (instance (export \"pay\" {function})))"), "acme:bank/pay"),
        (format!("(import \"pay\" {function})"), "\"pay\""),
        (
            format!("(import \"wasi:clocks/timezone@0.2.0\" (instance (export \"display\" {function})))"),
            "wasi:clocks/timezone@0.2.0",
        ),
        ("(import \"a:b/c\" (component))".to_owned(), "component"),
        ("(import \"m\" (core module))".to_owned(), "m"),
        // There, but not with this shape.
        (
            "(import \"wasi:clocks/monotonic-clock@0.2.0\" (instance (export \"now\" (func (result string)))))"
                .to_owned(),
            "now",
        ),
        ("(import \"wasi:clocks/monotonic-clock@0.2.0\" (instance (export \"later\" (func))))".to_owned(), "later"),
    ];
    for (import, named) in cases {
        let mut guest = WatGuest::body("i32.const 0");
        guest.imports = import.clone();
        let (code, message) = refused(&guest.bytes());
        assert_eq!(code, ErrorCode::ComponentInvalid, "{import}: {message}");
        assert!(message.contains(named), "{import}: {message}");
    }
}

#[test]
fn a_component_must_be_a_command() {
    let lifted = |export: &str, ty: &str, core: &str| {
        format!(
            "(component (core module $m (func (export \"run\") {core})) (core instance $i (instantiate $m))
               (func $run {ty} (canon lift (core func $i \"run\")))
               (instance $r (export \"run\" (func $run))) (export \"{export}\" (instance $r)))"
        )
    };
    let ok = "(result i32) (i32.const 0)";
    let cases = [
        ("(component)".to_owned(), "nothing"),
        (lifted("wasi:cli/ran@0.2.0", "(result (result))", ok), "another name"),
        (lifted("wasi:cli/run@0.2.0", "(result u32)", ok), "another type"),
        (lifted("wasi:cli/run@0.2.0", "", ""), "no result"),
        (lifted("wasi:http/incoming-handler@0.2.0", "(result (result))", ok), "a server"),
    ];
    for (text, what) in cases {
        let (code, message) = refused(&wat(&text));
        assert_eq!(code, ErrorCode::ComponentInvalid, "{what}: {message}");
        assert!(message.contains("run"), "{what}: {message}");
    }
}

#[test]
fn sockets_are_there_and_denied() {
    let run = run_parts(probe(), parts(&["socket"], Limits::default())).expect("an outcome");
    assert_eq!(run.outcome.ending, exited(0));
    let report: serde_json::Value = serde_json::from_slice(&run.outcome.stdout).expect("a report");
    for key in ["tcp4Create", "tcp6Create", "udp4Create", "udp6Create", "resolveName", "resolveAddress"] {
        assert_eq!(report[key], "access-denied", "{key} in {report}");
    }
}

/// Calls `$f` of an interface of `wasi:http`, whose types are `types`, and exits with what the call's result starts with.
fn http(interface: &str, types: &str, ty: &str, core_type: &str, call: &str) -> WatGuest {
    WatGuest {
        imports: format!(
            "(import \"wasi:http/{interface}@0.2.0\" (instance $http {types} (export \"f\" (func {ty}))))"
        ),
        lowered: vec![("f", "$http \"f\"")],
        core: format!("(import \"host\" \"f\" (func $f {core_type})) (func (export \"run\") (result i32) {call})"),
        ..WatGuest::default()
    }
}

#[test]
fn every_shape_of_answer_can_be_denied() {
    let error =
        "(type $e (variant (case \"DNS-timeout\") (case \"HTTP-request-denied\") (case \"other\" (option string))))
                 (export \"error-code\" (type $error (eq $e)))";
    let load = |at: u32| format!("(call $f (i32.const 16)) (i32.load8_u (i32.const {at}))");
    let is = |what: &str, value: u32| format!("(i32.ne ({what}) (i32.const {value}))");
    let first =
        |value: u32| format!("(call $f (i32.const 16)) (i32.ne (i32.load8_u (i32.const 16)) (i32.const {value}))");
    let returns = |ty: &str| format!("(result {ty})");
    let list = "(param \"l\" (list u8)) (result bool)";
    check(&[
        // An error of the interface's own: case 1 of result, then case 1 of the variant.
        Case::wat(
            "result with error",
            &http(
                "outgoing-handler",
                error,
                "(result (result u32 (error $error)))",
                "(param i32)",
                &format!(
                    "{} (i32.ne (i32.const 1)) (if (then unreachable)) {} (i32.ne (i32.const 1))",
                    load(16),
                    "(i32.load8_u (i32.const 20))"
                ),
            ),
            exited(0),
        ),
        Case::wat("result without", &http("a", "", &returns("(result)"), "(result i32)", &is("call $f", 1)), exited(0)),
        Case::wat("bool", &http("a", "", &returns("bool"), "(result i32)", "call $f"), exited(0)),
        Case::wat(
            "u64",
            &http("a", "", &returns("u64"), "(result i64)", "(i64.ne (call $f) (i64.const 0))"),
            exited(0),
        ),
        Case::wat(
            "string",
            &http(
                "a",
                "",
                &returns("string"),
                "(param i32)",
                &first(0).replace("load8_u (i32.const 16)", "load (i32.const 20)"),
            ),
            exited(0),
        ),
        Case::wat("option", &http("a", "", &returns("(option u64)"), "(param i32)", &first(0)), exited(0)),
        Case::wat("tuple", &http("a", "", &returns("(tuple u8 char f64)"), "(param i32)", &first(0)), exited(0)),
        Case::wat("nothing", &http("a", "", "", "", "(call $f) (i32.const 0)"), exited(0)),
        Case::wat(
            "a list given",
            &http("a", "", list, "(param i32 i32) (result i32)", "(call $f (i32.const 0) (i32.const 99))"),
            exited(0),
        ),
        // A list of values made for the host is bounded by what they take there.
        Case::wat(
            "a long list given",
            &http(
                "a",
                "",
                list,
                "(param i32 i32) (result i32)",
                "(drop (memory.grow (i32.const 64))) (call $f (i32.const 0) (i32.const 4000000))",
            ),
            limited(Limit::HostCall),
        ),
    ]);
}

#[test]
fn answers_that_are_denied_are_bounded_by_their_types() {
    let interface = |types: &str, ty: &str| {
        let mut guest = WatGuest::body("i32.const 0");
        guest.imports = format!("(import \"wasi:sockets/x@0.2.0\" (instance {types} (export \"f\" (func {ty}))))");
        guest.bytes()
    };
    let name = |letters: usize| "a".repeat(letters);
    let wide = |of: &str, count: usize| format!("(tuple {})", format!("{of} ").repeat(count));
    let many = "(result (tuple u8 u8 u8 u8 u8 u8 u8 u8))";
    let too_large = [
        // What one call would make: 100,000 names of 30,000 letters; 900,000 numbers; one name of 80,000 letters.
        interface(
            &format!(
                "(type $e0 (enum \"{}\")) (export \"e\" (type $e (eq $e0))) (type $t0 {}) (export \"t\" (type $t (eq $t0)))",
                name(30_000),
                wide("$e", 1_000)
            ),
            &format!("(result {})", wide("$t", 100)),
        ),
        interface(&format!("(type $t {})", wide("u8", 1_000)), &format!("(result {})", wide("$t", 900))),
        interface(
            &format!("(type $e0 (enum \"{}\")) (export \"e\" (type $e (eq $e0)))", name(80_000)),
            "(param \"p\" $e)",
        ),
        {
            // Each small enough, and too much together.
            let mut guest = WatGuest::body("i32.const 0");
            let functions: String = (0..80).map(|at| format!("(export \"f{at}\" (func (result $e)))")).collect();
            guest.imports = format!(
                "(import \"wasi:http/x@0.2.0\" (instance (type $e0 (enum \"{}\")) (export \"e\" (type $e (eq $e0))) {functions}))",
                name(60_000)
            );
            guest.bytes()
        },
    ];
    for bytes in too_large {
        let (code, message) = refused(&bytes);
        assert!(
            code == ErrorCode::ComponentInvalid && message.contains("too large to be answered"),
            "{code:?} {message}"
        );
    }
    assert!(sandbox().load(&interface("", many), &Limits::default()).is_ok());
    // Each value and each name that is looked through is paid for.
    let fuel = |ty: &str| {
        let call = http("a", "", &format!("(result {ty})"), "(param i32)", "(call $f (i32.const 16)) (i32.const 0)");
        let program = sandbox().load(&call.bytes(), &Limits::default()).expect("a program");
        run_parts(&program, parts(&[], Limits::default())).expect("an outcome").outcome.fuel
    };
    let (few, more) = (fuel(&wide("u8", 20)), fuel(&wide("u8", 920)));
    assert!(more - few >= 900 * hutch_world::price::ITEM, "{few} for 20 values, {more} for 920");
}

#[test]
fn a_resource_that_no_denied_call_can_make_is_not_made_up() {
    let guest = WatGuest {
        imports: "(import \"wasi:io/poll@0.2.0\" (instance $poll (export \"pollable\" (type $p (sub resource)))))
            (alias export $poll \"pollable\" (type $t))
            (import \"wasi:sockets/tcp@0.2.0\" (instance $tcp
              (alias outer 1 $t (type $u)) (export \"pollable\" (type $n (eq $u)))
              (export \"subscribe\" (func (result (own $n))))))"
            .to_owned(),
        lowered: vec![("subscribe", "$tcp \"subscribe\"")],
        core: "(import \"host\" \"subscribe\" (func $subscribe (result i32)))
               (func (export \"run\") (result i32) (drop (call $subscribe)) (i32.const 0))"
            .to_owned(),
        ..WatGuest::default()
    };
    check(&[Case::wat("a pollable of nothing", &guest, trapped("denied_call_has_no_answer"))]);
}

#[test]
fn components_in_components_count_as_instances() {
    let whole = |inner: &str, count: usize| {
        wat(&format!(
            "(component (component $c {inner}) {}
               (core module $m (func (export \"run\") (result i32) (i32.const 0))) (core instance $main (instantiate $m))
               (func $run (result (result)) (canon lift (core func $main \"run\")))
               (instance $exported (export \"run\" (func $run))) (export \"wasi:cli/run@0.2.0\" (instance $exported)))",
            "(instance (instantiate $c))".repeat(count)
        ))
    };
    let resource = "(type (resource (rep i32))) (type (resource (rep i32)))";
    // From the compiler, and from the cache.
    for _ in 0..2 {
        check(&[
            Case::bytes("as many as there may be", whole("", 99), exited(0)),
            Case::bytes("one more", whole("", 100), limited(Limit::Instances)),
            Case::bytes("more, granted", whole("", 100), exited(0)).under(Limit::Instances, 101),
            Case::bytes("resources", whole(resource, 50), exited(0)),
            Case::bytes("more resources", whole(resource, 51), limited(Limit::Instances)),
        ]);
    }
}

#[test]
fn resources_of_denied_interfaces_come_and_go() {
    let imports =
        "(import \"wasi:sockets/network@0.2.0\" (instance $network (export \"network\" (type (sub resource)))))
        (alias export $network \"network\" (type $t))
        (import \"wasi:sockets/instance-network@0.2.0\" (instance $maker
          (alias outer 1 $t (type $u)) (export \"network\" (type $n (eq $u)))
          (export \"instance-network\" (func (result (own $n))))))
        (import \"wasi:sockets/ip-name-lookup@0.2.0\" (instance $user
          (alias outer 1 $t (type $u)) (export \"network\" (type $n (eq $u)))
          (export \"lend\" (func (param \"n\" (borrow $n)) (result bool)))
          (export \"lend-all\" (func (param \"n\" (list (borrow $n))) (result bool)))
          (export \"give\" (func (param \"n\" (option (own $n))) (result bool)))))";
    let guest = |body: &str| {
        WatGuest {
        imports: imports.to_owned(),
        lowered: vec![("make", "$maker \"instance-network\""), ("lend", "$user \"lend\""), ("lend-all", "$user \"lend-all\""), ("give", "$user \"give\"")],
        made: vec![("drop", "(canon resource.drop $t)")],
        core: format!(
            "(import \"host\" \"make\" (func $make (result i32))) (import \"host\" \"lend\" (func $lend (param i32) (result i32)))
             (import \"host\" \"lend-all\" (func $lend_all (param i32 i32) (result i32)))
             (import \"host\" \"give\" (func $give (param i32 i32) (result i32))) (import \"host\" \"drop\" (func $drop (param i32)))
             (func (export \"run\") (result i32) (local $n i32) (local $i i32) {body})"
        ),
        ..WatGuest::default()
    }
    };
    let many = |work: &str| {
        format!(
            "(loop $again {work} (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br_if $again (i32.lt_u (local.get $i) (i32.const 100000)))) i32.const 0"
        )
    };
    check(&[
        Case::wat("made and dropped", &guest(&many("(call $drop (call $make))")), exited(0)),
        Case::wat(
            "lent",
            &guest(&format!("(local.set $n (call $make)) {}", many("(drop (call $lend (local.get $n)))"))),
            exited(0),
        ),
        Case::wat(
            "lent in a list",
            &guest(
                "(i32.store (i32.const 0) (call $make)) (i32.store (i32.const 4) (call $make)) (call $lend_all (i32.const 0) (i32.const 2))",
            ),
            exited(0),
        ),
        Case::wat("given", &guest(&many("(drop (call $give (i32.const 1) (call $make)))")), exited(0)),
        Case::wat("kept", &guest(&many("(drop (call $make))")), limited(Limit::Handles)),
        Case::wat(
            "dropped twice",
            &guest("(local.set $n (call $make)) (call $drop (local.get $n)) (call $drop (local.get $n)) i32.const 0"),
            trapped("unknown_handle"),
        ),
        Case::wat(
            "given, then used",
            &guest(
                "(local.set $n (call $make)) (drop (call $give (i32.const 1) (local.get $n))) (call $lend (local.get $n))",
            ),
            trapped("unknown_handle"),
        ),
        Case::wat("forged", &guest("(call $lend (i32.const 77))"), trapped("unknown_handle")),
    ]);
}

#[test]
fn resources_of_the_guests_own_are_bounded_too() {
    let guest = |work: &str| {
        WatGuest {
        imports: "(type $t (resource (rep i32)))".to_owned(),
        made: vec![
            ("new", "(canon resource.new $t)"),
            ("rep", "(canon resource.rep $t)"),
            ("drop", "(canon resource.drop $t)"),
        ],
        core: format!(
            "(import \"host\" \"new\" (func $new (param i32) (result i32))) (import \"host\" \"rep\" (func $rep (param i32) (result i32)))
             (import \"host\" \"drop\" (func $drop (param i32)))
             (func (export \"run\") (result i32) (local $i i32)
               (loop $again {work} (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))
               (i32.const 0))"
        ),
        ..WatGuest::default()
    }
    };
    check(&[
        Case::wat("made and dropped", &guest("(call $drop (call $new (local.get $i)))"), exited(0)),
        Case::wat("kept", &guest("(drop (call $new (local.get $i)))"), limited(Limit::Handles)),
        Case::wat("forged", &guest("(drop (call $rep (i32.const 77)))"), trapped("unknown_handle")),
    ]);
}
