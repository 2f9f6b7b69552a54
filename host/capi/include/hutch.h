/* hutch: untrusted command-line applications as WebAssembly components, inside a program.
 *
 * A request is one JSON object, and an answer is the document that the command line would print:
 *
 *   {"command": "run", "package": "packages/todo", "arguments": ["add", "milk"]}
 *
 * Every function may be called by any thread at any time. No panic leaves one (what it says is on standard error), and a guest gets what
 * a request says and nothing else. Texts are UTF-8, with their length in bytes and no zero at the end.
 *
 * When its first guest starts, the engine installs handlers for the signals by which a processor reports faults (SIGSEGV, SIGILL,
 * SIGFPE, and SIGBUS where it is used for that): those of guests end the guest, and others go to the handler that was there. A handler that is installed later
 * must hand them on, or a guest's fault ends the process; "interpreter" takes no such faults.
 *
 * A child of fork() is refused the hosts of its parent, and opens its own.
 */
#ifndef HUTCH_H
#define HUTCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A program that was built with another one must not call the rest: compare it with hutch_abi(). */
#define HUTCH_ABI 1

/* A host that is open; 0 is none. A handle that was closed is refused, not followed. */
typedef uint64_t hutch_host;

/* Bytes of this library's; data is NULL if there are none. */
typedef struct hutch_bytes {
    uint8_t *data;
    size_t length;
} hutch_bytes;

/* What comes of a call. Give it up with hutch_answer_free. */
typedef struct hutch_answer {
    int status;       /* the exit status that the command line would end with: 0 is good */
    hutch_bytes json; /* {"ok", "command", "result", …}, or {"error": true, "code", "message", "suggestion", …} */
    hutch_bytes out;  /* what the guest wrote to standard output, unchanged, if one ran */
    hutch_bytes err;  /* what it wrote to standard error */
} hutch_answer;

uint32_t hutch_abi(void);

/* The version of hutch, which ends with a zero. It stays. */
const char *hutch_version(void);

/* Opens a host. Options are an object, or nothing:
 *
 *   "home"         folder of instances and installed packages, as the command line's --home; in memory if absent
 *   "cache"        folder for compiled code, sealed under a key of the home; each process compiles anew if absent
 *   "compiler"     the hutch program, which compiles in a child with limits of its own; this process compiles if absent,
 *                  and then nothing bounds a compiler's time and memory
 *   "interpreter"  true: guests are interpreted, with the same outcomes
 *   "wait_ms"      how long another process's lock is waited for; else 10000
 *
 * The handle, or 0 with the error in the answer, which may be NULL. */
hutch_host hutch_open(const char *options, size_t options_length, hutch_answer *answer);

/* Answers a request: its status, and the rest in the answer, which may be NULL. Every request says
 *
 *   "command"      run | plan | apply | undo | verify | prove | meta
 *                  ledger list | ledger show
 *                  state cat | state diff (what was changed outside)
 *   "package"      a folder, a packed file, or the slug of an installed package; "" to check a proof by the one in it
 *
 * and may say
 *
 *   "instance"     whose state it is about; else "default"
 *   "at"           the host's clock; else the machine's
 *   "id"           a name for hutch_cancel
 *   "deadline_ms"  when it is cancelled: a guest that runs then leaves nothing, and compiling is not waited for any more, though it goes
 *                  on, once for a component, until it ends. What runs no guest (undo, meta, and all of ledger and state) looks at it
 *                  before it begins, and then goes to its end, which its size bounds: a page of "limit" entries, one file. verify looks
 *                  at it between entries too. Locks of other processes are waited for as long as wait_ms says, whatever the deadline.
 *
 * run and plan take "arguments", "stdin" (a text; else the input below), "now", "seed", "environment", "secrets", "limits",
 * "mounts": {NAME: {"folder", "access": "ro" | "rw" | "rwx"}}, "contract", "guard", "unchecked", "confirmed",
 * "digests_only" and "wall_time_us", and run also "retry". apply takes "plan", "confirmed", "secrets", "mounts" and "wall_time_us"; undo "count" and
 * "mounts", "entry" or "to"; verify "entry" or "all", "secrets"; prove "entry" and "bare", and the proof is what the
 * answer has as standard output, or "check": true and "limits", with the proof as input; ledger show "entry";
 * state cat "path", "entry"; lists "limit" and "offset"; ledger list "bytes". They mean what the command line's flags of these names mean; "confirmed" is --yes. A name that is none of these is
 * refused. Flags among the arguments (--help, --dry-run, --fields) are the guest's here, and verify runs entries of the version that it is
 * given.
 *
 * run answers with its document however the guest ended, as hutch run --envelope. */
int hutch_call(hutch_host host, const char *request, size_t request_length,
               const uint8_t *input, size_t input_length, hutch_answer *answer);

/* Cancels the calls under way that have this id; how many there were. They answer CANCELLED, unless they have just ended. */
size_t hutch_cancel(hutch_host host, const char *id, size_t id_length);

/* Gives up what an answer holds and empties it; an empty one may be given up again. */
void hutch_answer_free(hutch_answer *answer);

/* Closes a host: the handle is refused from now on, and calls under way end as they would. */
void hutch_close(hutch_host host);

#ifdef __cplusplus
}
#endif

#endif
