#!/usr/bin/env bash
# The program for 64-bit ARM, built and run on this machine: it comes to the same bytes, digests and fuel as the native one, each takes
# what the other kept, and the tests pass, but for those that are named below. Needs Debian on x86-64, Node 20, and root or sudo to install a
# second architecture's packages and to have the kernel start programs of it; HUTCH is the native program, built before, in `release` of a target
# folder. A build takes some twenty minutes, on two cores.
#
#   tests/sandbox/other-processors.sh           # builds, compares, and runs the tests that are fit for an emulator
#   tests/sandbox/other-processors.sh --check   # whether it builds: nothing is linked or run
#   tests/sandbox/other-processors.sh ARGUMENT OF CARGO TEST…   # builds, compares, and runs these
#
# Debian's libraries for ARM lie beside the machine's own. Where qemu is told to look elsewhere for them (-L), two C libraries meet in one
# process and it spins as soon as it starts a thread.
set -euo pipefail
if [ "${1-}" = --alone ]; then
    # Called by cargo with a program of tests. Each of the sandbox's in a process of its own: qemu keeps tables for all addresses that one ever reserved.
    shift
    case "$(basename "$1")" in
    endings-* | determinism-* | generated-*)
        failed=0
        # shellcheck disable=SC2046 # names of tests are words
        for name in $("$@" --list --format terse | sed -n 's/: test$//p'); do
            "$1" --quiet --exact "$name" > /dev/null && echo "passed: $name" || { echo "FAILED: $name"; failed=1; }
        done
        exit "$failed"
        ;;
    *) exec "$@" ;;
    esac
fi
self=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$self")/../.."
hutch=$(realpath "${HUTCH:-target/release/hutch}")
target=aarch64-unknown-linux-gnu
given_path=$PATH
# What an emulator can't show: what Linux itself says of paths, which is asked by `openat2`, and qemu 7.2 answers that with EINVAL; how long
# something takes; and what loads so many programs in one process that qemu's tables take more than 20 GB.
unfit=(
    differential::every_listed_difference_is_there
    differential::random_operations_agree
    differential::what_disagreed_once_agrees
    differential::paths::every_form_of_a_path_in_every_operation
    naming::naming_takes_no_longer_than_its_price
    bytes::mutated_components_load_or_are_refused_and_what_loads_ends
    together::one_runs_deadline_is_not_anothers
    surroundings_do_not_show
)
export LC_ALL=C CARGO_INCREMENTAL=0 PATH=/usr/bin:/bin
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/hutch-ci/target}/other-processors"

packages=(cargo-web rustc-web libstd-rust-web-dev:arm64 libc6:arm64 libgcc-s1:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
root=()
[ "$(id -u)" = 0 ] || root=(sudo)
if ! dpkg-query -W -f '${Status}\n' "${packages[@]}" 2>/dev/null | grep -c '^install ok installed$' | grep -qx "${#packages[@]}"; then
    "${root[@]}" dpkg --add-architecture arm64
    "${root[@]}" apt-get update
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
fi

export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
if [ "$*" = --check ]; then
    exec /usr/bin/cargo check --locked --release --workspace --target "$target"
fi
/usr/bin/cargo build --locked --release --workspace --target "$target" --bin hutch --example ask
arm=$CARGO_TARGET_DIR/$target/release/hutch

# The kernel starts ARM's programs by qemu: hutch starts itself, to compile, and tests start hutch.
binfmt=/proc/sys/fs/binfmt_misc
[ -e "$binfmt/register" ] || "${root[@]}" mount -t binfmt_misc none "$binfmt"
if ! "$arm" --version > /dev/null 2>&1; then
    printf '%s' ':hutch-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64:F' \
        | "${root[@]}" tee "$binfmt/register" > /dev/null
fi
"$arm" --version

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
root=$OLDPWD
# What a run on the program $1 in the home $2 comes to: all that is not time, nor of the home alone.
observe() {
    local program=$1 home=$2
    shift 2
    # Some of the calls are meant to fail.
    { HUTCH_HOME=$home "$program" run --now 2026-04-01T09:00:00Z --seed 7 --instance one --envelope --contract any "$@" 2>&1 || true; } \
        | python3 -c '
import json, sys
said = json.load(sys.stdin)
result = said.get("result") or [said["code"], said["message"], said["details"]]
timed = {"compiled", "entry", "load_time_us", "wall_time_us", "fixes"}
def untimed(value):
    if isinstance(value, dict): return {key: untimed(inner) for key, inner in value.items() if key not in timed}
    return [untimed(inner) for inner in value] if isinstance(value, list) else value
print(json.dumps(untimed(result), sort_keys=True))'
}
state=0 same=0
while read -r call; do
    # shellcheck disable=SC2086 # words are arguments
    observe "$hutch" native $call > one
    # shellcheck disable=SC2086 # the same
    observe "$arm" arm $call > other
    if cmp -s one other; then
        same=$((same + 1))
    else
        echo "differs: $call" >&2
        diff one other >&2 || true
        state=1
    fi
done <<CALLS
$root/packages/todo add milk
$root/packages/todo list
$root/packages/todo add two --due 2026-05-01
$root/packages/todo complete td_0001
$root/packages/todo list --status all
$root/packages/todo nonsense
$root/tests/packages/probe float-nan
$root/tests/packages/probe random 1000
$root/tests/packages/probe clock
$root/tests/packages/probe write-files 100
$root/tests/packages/probe tree state
$root/tests/packages/probe grow-memory 9000000
$root/tests/packages/probe hostcall-spin --count 10000
$root/tests/packages/probe trap
$root/tests/packages/probe panic
$root/tests/packages/probe exit 77
CALLS
echo "equal on both processors: $same calls"

# Each runs again what the other kept.
cp -r native native-2
cp -r arm arm-2
verified() {
    HUTCH_HOME=$1 "$2" verify --all --instance one --query "$3" "$root/packages/todo"
}
[ "$(verified native-2 "$arm" differ) $(verified arm-2 "$hutch" differ)" = "0 0" ]
echo "verified on the other processor: $(verified native-2 "$arm" equal) and $(verified arm-2 "$hutch" equal) entries"

cd "$root"
# The calls that every host is asked, beside the native program; README.md has the row.
export HUTCH_ASK_ARM=$CARGO_TARGET_DIR/$target/release/examples/ask HUTCH_EQUAL=$folder/rows
node_path=$(PATH=$given_path command -v node)
CARGO_TARGET_DIR=$(dirname "$(dirname "$hutch")") "$node_path" --test --test-name-pattern='64-bit ARM' tests/equal/hosts.test.mjs || state=1
"$node_path" tests/equal/table.mjs "$HUTCH_EQUAL" README.md || state=1

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$self --alone"
if [ $# -eq 0 ]; then
    set -- --test world --test sandbox --no-fail-fast --
    for name in "${unfit[@]}"; do set -- "$@" --skip "$name"; done
fi
HUTCH_GENERATED=40 /usr/bin/cargo test --locked --release --workspace --target "$target" "$@" || state=1
exit $state
