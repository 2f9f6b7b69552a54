#!/usr/bin/env bash
# How many instructions a call takes, from process start to end: a number that does not depend on how busy the machine is. Fails for
# a call that takes more than its budget, in budget.txt. Needs valgrind and a built program: target/release/hutch, or HUTCH.
#
#   tests/speed/instructions.sh            one table
#   tests/speed/instructions.sh --keep DIR the same, and callgrind's files there, for callgrind_annotate; of a program that was built
#                                          with HUTCH_SYMBOLS=1, which leaves the names of functions in it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LC_ALL=C
hutch="${HUTCH:-${CARGO_TARGET_DIR:-target}/release/hutch}"
budget=tests/speed/budget.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keep="$work/profiles"
[ "${1:-}" != --keep ] || keep=$(realpath -m "$2")
mkdir -p "$keep" "$work/home"
# Nothing of the person's, and nothing whose length differs between machines.
call() { env -i PATH=/usr/bin:/bin HOME="$work" HUTCH_HOME="$work/home" XDG_CACHE_HOME="$work/cache" "$@"; }

# A hundred items, as in the benchmark.
for at in $(seq 100); do printf '["add","item number %d","--due-at","2026-04-05"]\n' "$at"; done > "$work/items"
call "$hutch" run --now 2026-04-01T09:00:00Z --seed 7 --json-input packages/todo < "$work/items" > "$work/made"
# Machine code is made for the processor that is there, and valgrind's is another one: the compiler must see that too.
rm -rf "$work/cache"
warm() { call valgrind -q --tool=none "$@" "$hutch" run packages/todo list > "$work/answer" 2>&1; }
warm --trace-children=yes
# Files are remembered once they are old enough: after three seconds.
for _ in $(seq 60); do
    [ "$(find "$work/cache" -name '*.note' | wc -l)" -lt 2 ] || break
    warm
done
cp -a "$work/home" "$work/home.before"

failed=0
printf '%-10s %14s %14s\n' call instructions budget
while read -r name most arguments; do
    case "$name" in '' | '#'*) continue ;; esac
    rm -rf "$work/home"
    cp -a "$work/home.before" "$work/home"
    # shellcheck disable=SC2086 # the arguments are words
    call valgrind --tool=callgrind --callgrind-out-file="$keep/$name" "$hutch" $arguments > "$work/answer" 2> "$work/log"
    count=$(sed -n 's/.*Collected : \([0-9]*\)$/\1/p' "$work/log")
    if [ -z "$count" ]; then
        cat "$work/log" >&2
        exit 1
    fi
    verdict=''
    if [ "$count" -gt "$most" ]; then
        verdict='  over budget'
        failed=1
    fi
    printf '%-10s %14d %14d%s\n' "$name" "$count" "$most" "$verdict"
done < "$budget"
if [ "$failed" != 0 ]; then
    echo "build with HUTCH_SYMBOLS=1, run tests/speed/instructions.sh --keep DIR and callgrind_annotate --inclusive=yes DIR/CALL to see where they go" >&2
    exit 1
fi
