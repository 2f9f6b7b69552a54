//! Rules of the canonical ABI, one broken in each row. The engine says some of them in words alone, which differ by who finds it: the
//! host that takes values by their types, the host that takes any, another component. A row whose words are not known to be
//! the guest's doing any more would be a failure of the host, and no outcome.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::wasi_text::wasi;
use crate::support::wat_guest::{WatGuest, wat};
use crate::support::{limits, sandbox};
use hutch_model::limits::Limit;
use hutch_sandbox::DescribeError;

/// Calls `f`, which an interface of `wasi:http` has with these parameters: any values are taken there, one by one.
fn given(params: &str, encoding: &str, core_params: &str, data: &str, call: &str) -> WatGuest {
    let canon = format!(
        "(canon lower (func $http \"f\") (memory (core memory $libc \"memory\")) (realloc (core func $libc \"realloc\")) string-encoding={encoding})"
    );
    WatGuest {
        imports: format!(
            "(import \"wasi:http/a@0.2.0\" (instance $http (export \"f\" (func {params} (result bool)))))"
        ),
        made: vec![("f", Box::leak(canon.into_boxed_str()))],
        core: format!(
            "(import \"host\" \"f\" (func $f (param {core_params}) (result i32))) (data (i32.const 16) \"{data}\")
             (func (export \"run\") (result i32) (call $f {call}))"
        ),
        ..WatGuest::default()
    }
}

const BOTH: &str = "latin1+utf16";
const WIDE: u32 = 1 << 31;

#[test]
fn values_of_any_type() {
    let string = |encoding: &str, data: &str, at: u32, units: u32| {
        given("(param \"s\" string)", encoding, "i32 i32", data, &format!("(i32.const {at}) (i32.const {units})"))
    };
    let one = |ty: &str, core: &str, call: &str| given(&format!("(param \"v\" {ty})"), "utf8", core, "", call);
    let list = |at: u32| one("(list u32)", "i32 i32", &format!("(i32.const {at}) (i32.const 1)"));
    check(&[
        Case::wat("UTF-8 that is none", &string("utf8", "\\ff\\fe", 16, 2), trapped("invalid_utf8")),
        Case::wat("half a pair", &string("utf16", "\\00\\d8a\\00", 16, 2), trapped("invalid_utf16")),
        Case::wat("a string between units", &string("utf16", "", 17, 2), trapped("unaligned_pointer")),
        // Of two encodings, the highest bit of the length says which.
        Case::wat("any byte is Latin-1", &string(BOTH, "\\ff\\80", 16, 2), exited(0)),
        Case::wat("half a pair, of two", &string(BOTH, "\\00\\d8a\\00", 16, WIDE | 2), trapped("invalid_utf16")),
        Case::wat("between units, of two", &string(BOTH, "", 17, 2), trapped("unaligned_pointer")),
        Case::wat("beyond the end, of two", &string(BOTH, "", 16, WIDE - 1), trapped("string_out_of_bounds")),
        Case::wat("beyond the end, wide", &string(BOTH, "", 16, u32::MAX), trapped("string_out_of_bounds")),
        Case::wat("beyond the end, twice as far", &string("utf16", "", 16, u32::MAX), trapped("string_out_of_bounds")),
        Case::wat("a string beyond the end", &string("utf8", "", 131_070, 9), trapped("string_out_of_bounds")),
        Case::wat("a list between elements", &list(17), trapped("unaligned_pointer")),
        Case::wat("a list beyond the end", &list(131_072), trapped("list_out_of_bounds")),
        Case::wat("no case of an enum", &one("bool", "i32", "(i32.const 7)"), exited(0)),
        Case::wat(
            "no case of an option",
            &one("(option u8)", "i32 i32", "(i32.const 2) (i32.const 0)"),
            trapped("invalid_discriminant"),
        ),
        Case::wat("no character", &one("char", "i32", "(i32.const 0xd800)"), trapped("invalid_char")),
    ]);
}

#[test]
fn values_of_declared_types() {
    let advise = WatGuest {
        imports: "
            (import \"wasi:filesystem/types@0.2.0\" (instance $files
              (type $a (enum \"normal\" \"sequential\" \"random\" \"will-need\" \"dont-need\" \"no-reuse\"))
              (export \"advice\" (type $advice (eq $a)))
              (type $ec (enum \"access\" \"would-block\" \"already\" \"bad-descriptor\" \"busy\" \"deadlock\" \"quota\" \"exist\"
                \"file-too-large\" \"illegal-byte-sequence\" \"in-progress\" \"interrupted\" \"invalid\" \"io\" \"is-directory\"
                \"loop\" \"too-many-links\" \"message-size\" \"name-too-long\" \"no-device\" \"no-entry\" \"no-lock\"
                \"insufficient-memory\" \"insufficient-space\" \"not-directory\" \"not-empty\" \"not-recoverable\" \"unsupported\"
                \"no-tty\" \"no-such-device\" \"overflow\" \"not-permitted\" \"pipe\" \"read-only\" \"invalid-seek\"
                \"text-file-busy\" \"cross-device\"))
              (export \"error-code\" (type $error (eq $ec)))
              (export \"descriptor\" (type $d (sub resource)))
              (export \"[method]descriptor.advise\" (func (param \"self\" (borrow $d)) (param \"offset\" u64) (param \"length\" u64)
                (param \"advice\" $advice) (result (result (error $error)))))))
            (alias export $files \"descriptor\" (type $descriptor))
            (import \"wasi:filesystem/preopens@0.2.0\" (instance $preopens
              (alias outer 1 $descriptor (type $d0)) (export \"descriptor\" (type $d (eq $d0)))
              (export \"get-directories\" (func (result (list (tuple (own $d) string)))))))"
            .to_owned(),
        lowered: vec![
            ("advise", "$files \"[method]descriptor.advise\""),
            ("preopens", "$preopens \"get-directories\""),
        ],
        core: "(import \"host\" \"advise\" (func $advise (param i32 i64 i64 i32 i32)))
               (import \"host\" \"preopens\" (func $preopens (param i32)))
               (func (export \"run\") (result i32) (call $preopens (i32.const 8))
                 (call $advise (i32.load (i32.load (i32.const 8))) (i64.const 0) (i64.const 0) (i32.const 6) (i32.const 32))
                 (i32.const 0))"
            .to_owned(),
        ..WatGuest::default()
    };
    check(&[Case::wat("no case of an enum", &advise, trapped("invalid_discriminant"))]);
}

/// Lists whose elements are all the same bytes: what they take is counted where they are made, and not where they come from.
#[test]
fn values_that_share_their_bytes() {
    let list = |ty: &str, before: &str, count: u32| {
        let call = format!("(i32.const 65536) (i32.const {count})");
        let mut guest = given(&format!("(param \"l\" (list {ty}))"), "utf8", "i32 i32", "", &call);
        guest.core = guest.core.replace(
            "(result i32) (call $f",
            &format!(
                "(result i32) (local i32)
                 (loop $each {before} (local.set 0 (i32.add (local.get 0) (i32.const 8)))
                   (br_if $each (i32.lt_u (local.get 0) (i32.const {}))))
                 (call $f",
                count * 8
            ),
        );
        guest.memory = "20".to_owned();
        guest
    };
    // At each 8 bytes from 64 KiB on: a text, or a list, of the first 64,000 bytes.
    let shared =
        "(i32.store offset=65536 (local.get 0) (i32.const 0)) (i32.store offset=65540 (local.get 0) (i32.const 64000))";
    let nothing =
        "(i32.store offset=65536 (local.get 0) (i32.const 0)) (i32.store offset=65540 (local.get 0) (i32.const 0))";
    // A number takes more where any value is taken than the byte that it came from.
    for (ty, few) in [("string", 20), ("(list u8)", 1)] {
        check(&[
            Case::wat(ty, &list(ty, shared, few), exited(0)),
            Case::wat(ty, &list(ty, shared, 100_000), limited(Limit::HostCall)),
            Case::wat(ty, &list(ty, nothing, 10_000), exited(0)),
        ]);
    }
}

/// Bits that no flag has mean nothing: no path is opened by them that is not without them.
#[test]
fn flags_that_are_not_there() {
    let open = |flags: i32, path: &str| {
        let before = format!(
            "(call $open (global.get $root) (i32.const {flags}) (i32.const 1024) (i32.const {}) (i32.const {flags})
               (i32.const {flags}) (i32.const 8))
             (return (i32.load8_u (i32.const 8)))",
            path.len()
        );
        let mut guest = wasi(&before, "");
        guest.core += &format!("(data (i32.const 1024) \"{path}\")");
        guest
    };
    // Without the bits that are there: to follow, to make, to truncate, to read and to write.
    let none = !0x3f;
    check(&[
        Case::wat("nothing is asked of what is there", &open(none, "."), exited(0)),
        Case::wat("nothing is made", &open(none, "new"), exited(1)),
        Case::wat("nothing above", &open(none, ".."), exited(1)),
        Case::wat("all at once", &open(-1, "new"), exited(1)),
        Case::wat("all at once, above", &open(-1, "../new"), exited(1)),
    ]);
}

/// An interface that is denied, with a resource of its own, and what the two components below share.
const NETWORK: &str = "
    (import \"wasi:sockets/network@0.2.0\" (instance $network (export \"network\" (type (sub resource)))))
    (alias export $network \"network\" (type $t))
    (import \"wasi:sockets/maker@0.2.0\" (instance $maker
      (alias outer 1 $t (type $u)) (export \"network\" (type $n (eq $u)))
      (export \"make\" (func (result (own $n))))
      (export \"lend-and-give\" (func (param \"a\" (borrow $n)) (param \"b\" (own $n)) (result bool)))
      (export \"give\" (func (param \"a\" (own $n)) (result bool)))))";

#[test]
fn handles_that_are_lent() {
    let twice = WatGuest {
        imports: NETWORK.to_owned(),
        lowered: vec![("make", "$maker \"make\""), ("lend-and-give", "$maker \"lend-and-give\"")],
        core: "(import \"host\" \"make\" (func $make (result i32)))
               (import \"host\" \"lend-and-give\" (func $both (param i32 i32) (result i32)))
               (func (export \"run\") (result i32) (local $n i32)
                 (local.set $n (call $make)) (call $both (local.get $n) (local.get $n)))"
            .to_owned(),
        ..WatGuest::default()
    };
    // Another component is lent a handle, and does this with it.
    let borrower = |work: &str| {
        wat(&format!(
            "(component {NETWORK}
               (alias export $maker \"make\" (func $make)) (alias export $maker \"give\" (func $give))
               (component $borrower
                 (import \"t\" (type $t (sub resource)))
                 (import \"give\" (func $give (param \"a\" (own $t)) (result bool)))
                 (core func $give (canon lower (func $give)))
                 (core func $drop (canon resource.drop $t))
                 (core module $m (import \"h\" \"give\" (func $give (param i32) (result i32))) (import \"h\" \"drop\" (func $drop (param i32)))
                   (func (export \"f\") (param i32) {work}))
                 (core instance $i (instantiate $m (with \"h\" (instance (export \"give\" (func $give)) (export \"drop\" (func $drop))))))
                 (func (export \"f\") (param \"a\" (borrow $t)) (canon lift (core func $i \"f\"))))
               (instance $borrower (instantiate $borrower (with \"t\" (type $t)) (with \"give\" (func $give))))
               (component $lender
                 (import \"t\" (type $t (sub resource)))
                 (import \"make\" (func $make (result (own $t))))
                 (import \"f\" (func $f (param \"a\" (borrow $t))))
                 (core func $make (canon lower (func $make)))
                 (core func $f (canon lower (func $f)))
                 (core module $m (import \"h\" \"make\" (func $make (result i32))) (import \"h\" \"f\" (func $f (param i32)))
                   (func (export \"run\") (result i32) (call $f (call $make)) (i32.const 0)))
                 (core instance $i (instantiate $m (with \"h\" (instance (export \"make\" (func $make)) (export \"f\" (func $f))))))
                 (func (export \"run\") (result (result)) (canon lift (core func $i \"run\"))))
               (instance $lender (instantiate $lender (with \"t\" (type $t)) (with \"make\" (func $make))
                 (with \"f\" (func $borrower \"f\"))))
               (instance $exported (export \"run\" (func $lender \"run\")))
               (export \"wasi:cli/run@0.2.0\" (instance $exported)))"
        ))
    };
    check(&[
        Case::wat("lent and given at once", &twice, trapped("handle_is_lent")),
        Case::bytes("dropped, as it must be", borrower("(call $drop (local.get 0))"), exited(0)),
        Case::bytes("kept", borrower(""), trapped("handle_was_kept")),
        Case::bytes("given away", borrower("(drop (call $give (local.get 0)))"), trapped("handle_is_borrowed")),
    ]);
}

#[test]
fn strings_between_components() {
    let pair = |encoding: &str, data: &str, units: u32| {
        let memory = "(memory (export \"memory\") 1)
            (func (export \"realloc\") (param i32 i32 i32 i32) (result i32) (i32.const 1024))";
        let options = |instance: &str| {
            format!(
                "(memory (core memory {instance} \"memory\")) (realloc (core func {instance} \"realloc\")) string-encoding={encoding}"
            )
        };
        wat(&format!(
            "(component
               (component $taker
                 (core module $m {memory} (func (export \"f\") (param i32 i32)))
                 (core instance $i (instantiate $m))
                 (func (export \"f\") (param \"s\" string) (canon lift (core func $i \"f\") {})))
               (instance $taker (instantiate $taker))
               (component $giver
                 (import \"f\" (func $f (param \"s\" string)))
                 (core module $libc {memory})
                 (core instance $libc (instantiate $libc))
                 (core func $f (canon lower (func $f) {}))
                 (core module $m (import \"h\" \"f\" (func $f (param i32 i32))) (import \"h\" \"memory\" (memory 1))
                   (data (i32.const 16) \"{data}\")
                   (func (export \"run\") (result i32) (call $f (i32.const 16) (i32.const {units})) (i32.const 0)))
                 (core instance $i (instantiate $m
                   (with \"h\" (instance (export \"f\" (func $f)) (export \"memory\" (memory $libc \"memory\"))))))
                 (func (export \"run\") (result (result)) (canon lift (core func $i \"run\"))))
               (instance $giver (instantiate $giver (with \"f\" (func $taker \"f\"))))
               (instance $exported (export \"run\" (func $giver \"run\")))
               (export \"wasi:cli/run@0.2.0\" (instance $exported)))",
            options("$i"),
            options("$libc"),
        ))
    };
    check(&[
        Case::bytes("UTF-8", pair("utf8", "abc", 3), exited(0)),
        Case::bytes("UTF-8 that is none", pair("utf8", "\\ff", 1), trapped("invalid_utf8")),
        Case::bytes("any byte is Latin-1", pair(BOTH, "\\ff\\80", 2), exited(0)),
        Case::bytes("half a pair, of two", pair(BOTH, "\\00\\d8a\\00", WIDE | 2), trapped("invalid_utf16")),
        Case::bytes("beyond the end, of two", pair(BOTH, "", WIDE - 1), trapped("string_out_of_bounds")),
        Case::bytes("beyond the end, wide", pair(BOTH, "", u32::MAX), trapped("string_out_of_bounds")),
        Case::bytes("half a pair", pair("utf16", "\\00\\d8a\\00", 2), trapped("invalid_utf16")),
    ]);
}

#[test]
fn answers_of_a_description() {
    let described = |answer: &str| {
        let mut guest = WatGuest::core(&format!(
            "(func (export \"describe\") (result i32) {answer}) (func (export \"run\") (result i32) (i32.const 0))"
        ));
        guest.after = "(func $describe (result string) (canon lift (core func $main \"describe\") (memory (core memory $libc \"memory\"))))
                       (instance $contract (export \"describe\" (func $describe)))
                       (export \"hutch:app/contract@0.1.0\" (instance $contract))"
            .to_owned();
        let program = sandbox().load(&guest.bytes(), &limits(&[])).expect("a program");
        sandbox().describe(&program, &limits(&[]))
    };
    for (answer, trap) in [("(i32.const 2)", "unaligned_pointer"), ("(i32.const 131072)", "pointer_out_of_bounds")] {
        let error = described(answer).expect_err("a bad answer");
        assert!(matches!(&error, DescribeError::Guest(text) if text.contains(trap)), "{answer}: {error:?}");
    }
}
