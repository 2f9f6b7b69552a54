#!/usr/bin/env bash
# The program for 64-bit ARM, built and run on this machine: it comes to the same bytes, digests and fuel as the native one, each takes
# what the other kept, and the tests pass. Needs Debian on x86-64, and root or sudo to install a second architecture's packages and to have
# the kernel start programs of it; HUTCH is the native program, built before. A build takes some ten minutes, on two cores.
#
#   tests/sandbox/other-processors.sh [ARGUMENT OF CARGO TEST…]
#
# Debian's libraries for ARM lie beside the machine's own. Where qemu is told to look elsewhere for them (-L), two C libraries meet in one
# process and it spins as soon as it starts a thread.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
hutch=$(realpath "${HUTCH:-target/release/hutch}")
target=aarch64-unknown-linux-gnu
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
/usr/bin/cargo build --locked --release --workspace --target "$target"
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
if [ $# -gt 0 ]; then
    /usr/bin/cargo test --locked --release --workspace --target "$target" "$@"
fi
exit $state
