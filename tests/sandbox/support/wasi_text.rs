//! Imports of WASI 0.2 in the text format, and guests that call them.

use super::wat_guest::WatGuest;

const IMPORTS: &str = r#"
    (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
    (alias export $error "error" (type $failed))
    (import "wasi:io/poll@0.2.0" (instance $poll
      (export "pollable" (type $p (sub resource)))
      (export "[method]pollable.ready" (func (param "self" (borrow $p)) (result bool)))
      (export "poll" (func (param "in" (list (borrow $p))) (result (list u32))))))
    (alias export $poll "pollable" (type $pollable))
    (import "wasi:io/streams@0.2.0" (instance $streams
      (alias outer 1 $failed (type $e0)) (export "error" (type $e (eq $e0)))
      (type $se (variant (case "last-operation-failed" (own $e)) (case "closed")))
      (export "stream-error" (type $stream_error (eq $se)))
      (export "input-stream" (type $in (sub resource)))
      (export "output-stream" (type $out (sub resource)))
      (export "[method]input-stream.read" (func (param "self" (borrow $in)) (param "len" u64)
        (result (result (list u8) (error $stream_error)))))
      (export "[method]input-stream.skip" (func (param "self" (borrow $in)) (param "len" u64)
        (result (result u64 (error $stream_error)))))
      (export "[method]output-stream.check-write" (func (param "self" (borrow $out)) (result (result u64 (error $stream_error)))))
      (export "[method]output-stream.write" (func (param "self" (borrow $out)) (param "contents" (list u8))
        (result (result (error $stream_error)))))
      (export "[method]output-stream.write-zeroes" (func (param "self" (borrow $out)) (param "len" u64)
        (result (result (error $stream_error)))))
      (export "[method]output-stream.splice" (func (param "self" (borrow $out)) (param "src" (borrow $in)) (param "len" u64)
        (result (result u64 (error $stream_error)))))))
    (alias export $streams "output-stream" (type $output))
    (alias export $streams "input-stream" (type $input))
    (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
      (alias outer 1 $pollable (type $p0)) (export "pollable" (type $p (eq $p0)))
      (export "now" (func (result u64)))
      (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
    (import "wasi:cli/stdout@0.2.0" (instance $stdout
      (alias outer 1 $output (type $o0)) (export "output-stream" (type $o (eq $o0)))
      (export "get-stdout" (func (result (own $o))))))
    (import "wasi:cli/environment@0.2.0" (instance $environment
      (export "get-environment" (func (result (list (tuple string string)))))
      (export "get-arguments" (func (result (list string))))))
    (import "wasi:random/random@0.2.0" (instance $random
      (export "get-random-bytes" (func (param "len" u64) (result (list u8))))
      (export "get-random-u64" (func (result u64)))))
    (import "wasi:clocks/wall-clock@0.2.0" (instance $wall
      (type $d (record (field "seconds" u64) (field "nanoseconds" u32))) (export "datetime" (type $datetime (eq $d)))
      (export "now" (func (result $datetime)))))
    (alias export $wall "datetime" (type $datetime))
    (import "wasi:filesystem/types@0.2.0" (instance $files
      (alias outer 1 $datetime (type $dt0)) (export "datetime" (type $dt (eq $dt0)))
      (alias outer 1 $output (type $o0)) (export "output-stream" (type $o (eq $o0)))
      (alias outer 1 $input (type $i0)) (export "input-stream" (type $i (eq $i0)))
      (type $ec (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist" "file-too-large"
        "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop" "too-many-links" "message-size"
        "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory" "insufficient-space" "not-directory" "not-empty"
        "not-recoverable" "unsupported" "no-tty" "no-such-device" "overflow" "not-permitted" "pipe" "read-only" "invalid-seek"
        "text-file-busy" "cross-device"))
      (export "error-code" (type $error_code (eq $ec)))
      (type $ty (enum "unknown" "block-device" "character-device" "directory" "fifo" "symbolic-link" "regular-file" "socket"))
      (export "descriptor-type" (type $type (eq $ty)))
      (type $df (flags "read" "write" "file-integrity-sync" "data-integrity-sync" "requested-write-sync" "mutate-directory"))
      (export "descriptor-flags" (type $descriptor_flags (eq $df)))
      (type $pf (flags "symlink-follow")) (export "path-flags" (type $path_flags (eq $pf)))
      (type $of (flags "create" "directory" "exclusive" "truncate")) (export "open-flags" (type $open_flags (eq $of)))
      (type $st (record (field "type" $type) (field "link-count" u64) (field "size" u64)
        (field "data-access-timestamp" (option $dt)) (field "data-modification-timestamp" (option $dt))
        (field "status-change-timestamp" (option $dt))))
      (export "descriptor-stat" (type $stat (eq $st)))
      (type $de (record (field "type" $type) (field "name" string))) (export "directory-entry" (type $entry (eq $de)))
      (export "directory-entry-stream" (type $entries (sub resource)))
      (export "descriptor" (type $d (sub resource)))
      (export "[method]descriptor.open-at" (func (param "self" (borrow $d)) (param "path-flags" $path_flags) (param "path" string)
        (param "open-flags" $open_flags) (param "flags" $descriptor_flags) (result (result (own $d) (error $error_code)))))
      (export "[method]descriptor.read" (func (param "self" (borrow $d)) (param "length" u64) (param "offset" u64)
        (result (result (tuple (list u8) bool) (error $error_code)))))
      (export "[method]descriptor.write" (func (param "self" (borrow $d)) (param "buffer" (list u8)) (param "offset" u64)
        (result (result u64 (error $error_code)))))
      (export "[method]descriptor.set-size" (func (param "self" (borrow $d)) (param "size" u64) (result (result (error $error_code)))))
      (export "[method]descriptor.read-via-stream" (func (param "self" (borrow $d)) (param "offset" u64)
        (result (result (own $i) (error $error_code)))))
      (export "[method]descriptor.stat-at" (func (param "self" (borrow $d)) (param "path-flags" $path_flags) (param "path" string)
        (result (result $stat (error $error_code)))))
      (export "[method]descriptor.create-directory-at" (func (param "self" (borrow $d)) (param "path" string)
        (result (result (error $error_code)))))
      (export "[method]descriptor.rename-at" (func (param "self" (borrow $d)) (param "old-path" string)
        (param "new-descriptor" (borrow $d)) (param "new-path" string) (result (result (error $error_code)))))
      (export "[method]descriptor.symlink-at" (func (param "self" (borrow $d)) (param "old-path" string) (param "new-path" string)
        (result (result (error $error_code)))))
      (export "[method]descriptor.readlink-at" (func (param "self" (borrow $d)) (param "path" string)
        (result (result string (error $error_code)))))
      (export "[method]descriptor.unlink-file-at" (func (param "self" (borrow $d)) (param "path" string)
        (result (result (error $error_code)))))
      (export "[method]descriptor.read-directory" (func (param "self" (borrow $d))
        (result (result (own $entries) (error $error_code)))))
      (export "[method]directory-entry-stream.read-directory-entry" (func (param "self" (borrow $entries))
        (result (result (option $entry) (error $error_code)))))))
    (alias export $files "descriptor" (type $descriptor))
    (alias export $files "directory-entry-stream" (type $entries))
    (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
      (alias outer 1 $descriptor (type $d0)) (export "descriptor" (type $d (eq $d0)))
      (export "get-directories" (func (result (list (tuple (own $d) string)))))))"#;

/// An allocator that starts again when its memory is used up.
const ROUND: &str = "
    (local $at i32)
    (if (i32.gt_u (i32.add (global.get $top) (local.get $size)) (i32.const 13000000)) (then (global.set $top (i32.const 65536))))
    (local.set $at (global.get $top))
    (global.set $top (i32.add (local.get $at) (i32.and (i32.add (local.get $size) (i32.const 7)) (i32.const -8))))
    (local.get $at)";

/// Names in the core module, where they come from, and their core types.
const FUNCTIONS: [(&str, &str, &str); 27] = [
    ("now", "$clock \"now\"", "(result i64)"),
    ("subscribe", "$clock \"subscribe-duration\"", "(param i64) (result i32)"),
    ("ready", "$poll \"[method]pollable.ready\"", "(param i32) (result i32)"),
    ("poll", "$poll \"poll\"", "(param i32 i32 i32)"),
    ("stdout", "$stdout \"get-stdout\"", "(result i32)"),
    ("environment", "$environment \"get-environment\"", "(param i32)"),
    ("arguments", "$environment \"get-arguments\"", "(param i32)"),
    ("random", "$random \"get-random-bytes\"", "(param i64 i32)"),
    ("random-u64", "$random \"get-random-u64\"", "(result i64)"),
    ("stream-read", "$streams \"[method]input-stream.read\"", "(param i32 i64 i32)"),
    ("stream-skip", "$streams \"[method]input-stream.skip\"", "(param i32 i64 i32)"),
    ("check-write", "$streams \"[method]output-stream.check-write\"", "(param i32 i32)"),
    ("stream-write", "$streams \"[method]output-stream.write\"", "(param i32 i32 i32 i32)"),
    ("zeroes", "$streams \"[method]output-stream.write-zeroes\"", "(param i32 i64 i32)"),
    ("preopens", "$preopens \"get-directories\"", "(param i32)"),
    ("open", "$files \"[method]descriptor.open-at\"", "(param i32 i32 i32 i32 i32 i32 i32)"),
    ("read", "$files \"[method]descriptor.read\"", "(param i32 i64 i64 i32)"),
    ("write", "$files \"[method]descriptor.write\"", "(param i32 i32 i32 i64 i32)"),
    ("set-size", "$files \"[method]descriptor.set-size\"", "(param i32 i64 i32)"),
    ("stat-at", "$files \"[method]descriptor.stat-at\"", "(param i32 i32 i32 i32 i32)"),
    ("make-folder", "$files \"[method]descriptor.create-directory-at\"", "(param i32 i32 i32 i32)"),
    ("rename", "$files \"[method]descriptor.rename-at\"", "(param i32 i32 i32 i32 i32 i32 i32)"),
    ("symlink", "$files \"[method]descriptor.symlink-at\"", "(param i32 i32 i32 i32 i32 i32)"),
    ("readlink", "$files \"[method]descriptor.readlink-at\"", "(param i32 i32 i32 i32)"),
    ("unlink", "$files \"[method]descriptor.unlink-file-at\"", "(param i32 i32 i32 i32)"),
    ("list", "$files \"[method]descriptor.read-directory\"", "(param i32 i32)"),
    ("entry", "$files \"[method]directory-entry-stream.read-directory-entry\"", "(param i32 i32)"),
];

/// A guest that can call `$FUNCTION` for the functions above and `$drop-pollable`, `$drop-descriptor`, `$drop-entries`. Results go
/// to byte 8; `$root` is its one volume. `realloc` goes round in the memory from byte 65,536 on: nothing is kept for long.
pub(crate) fn wasi(before: &str, repeated: &str) -> WatGuest {
    let imports = FUNCTIONS.map(|(name, _, ty)| format!("(import \"host\" \"{name}\" (func ${name} {ty}))")).concat();
    WatGuest {
        imports: IMPORTS.to_owned(),
        lowered: FUNCTIONS.iter().map(|(name, from, _)| (*name, *from)).collect(),
        made: vec![
            ("drop-pollable", "(canon resource.drop $pollable)"),
            ("drop-descriptor", "(canon resource.drop $descriptor)"),
            ("drop-entries", "(canon resource.drop $entries)"),
        ],
        core: format!(
            "{imports}
             (import \"host\" \"drop-pollable\" (func $drop-pollable (param i32)))
             (import \"host\" \"drop-descriptor\" (func $drop-descriptor (param i32)))
             (import \"host\" \"drop-entries\" (func $drop-entries (param i32)))
             (global $root (mut i32) (i32.const 0))
             (func (export \"run\") (result i32) (local $h i32) (local $i i32) (local $n i64)
               (call $preopens (i32.const 8)) (global.set $root (i32.load (i32.load (i32.const 8))))
               {before}
               (loop $again {repeated} (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $again))
               unreachable)"
        ),
        memory: "200".to_owned(),
        realloc: ROUND.to_owned(),
        ..WatGuest::default()
    }
}
