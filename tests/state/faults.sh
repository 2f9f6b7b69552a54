#!/usr/bin/env bash
# What no test of one process can do: the program is killed at every system call that changes anything, and each of those calls fails
# once with each error that a disk gives, in a run that keeps state, one that changes a granted folder, one that only reads, and an
# undo. Afterwards the state is the one from before or the one from after, the record says which, and the next call finds nothing
# half done. The same where two files can't be exchanged, and where the machine starts anew between the kill and the next call: the file
# system is mounted again under another number, and the system says another start. That needs root and two loop devices, and is left out
# without. Then writers and an editor are at it at once. Needs Linux, strace and the built program; says what it counted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program="${CARGO_TARGET_DIR:-target}/release/hutch"
[ -x "$program" ] || { echo "build the program first: cargo build --release" >&2; exit 2; }
command -v strace >/dev/null || { echo "needs strace" >&2; exit 2; }
program="$(realpath "$program")"
probe=tests/packages/probe
# The start of the machine is another file in a name space of its own.
if [ "$(id -u)" = 0 ] && [ -z "${HUTCH_FAULTS_APART-}" ] && unshare -m true 2>/dev/null; then
    HUTCH_FAULTS_APART=1 exec unshare -m "$0" "$@"
fi
scratch=$(mktemp -d)
devices=()
ended() {
    ! mountpoint -q "$scratch/disk" || umount "$scratch/disk"
    [ ${#devices[@]} = 0 ] || losetup -d "${devices[@]}"
    rm -rf "$scratch"
}
trap ended EXIT
changing=write,pwrite64,fsync,fdatasync,ftruncate,renameat2,renameat,rename,unlinkat,unlink,mkdirat,mkdir,linkat
kills=0 failures=0 starts=0

fail() {
    echo "faults.sh: $*" >&2
    exit 1
}

hutch() {
    env -i HOME="$home" PATH="$PATH" "$program" "$@"
}

# A home in which the probe has run, with a folder to grant; made once, and copied.
base=$scratch
fresh() {
    home="$base/home"
    rm -rf "$home"
    if [ -d "$scratch/template-$what" ]; then
        cp -a "$scratch/template-$what" "$home"
        return
    fi
    mkdir -p "$home/granted/sub"
    printf before >"$home/granted/a"
    printf kept >"$home/granted/sub/b"
    hutch run "$probe" write-text state/a before >/dev/null
    [ "$what" != undo ] || hutch run "$probe" write-text state/a later >/dev/null
    cp -a "$home" "$scratch/template-$what"
}

state() { hutch state cat --raw probe state/a; }
granted() { (cd "$home/granted" && find . -type f | LC_ALL=C sort | xargs -r head -v -c 100; find . -name '.hutch-*'); }

# After whatever happened: all is whole, and everything said can be relied on.
whole() {
    hutch verify --chain probe >/dev/null || fail "$1: the chain is broken"
    hutch doctor probe >/dev/null 2>"$scratch/err" || fail "$1: $(cat "$scratch/err")"
    hutch verify --all "$probe" >/dev/null 2>"$scratch/err" || grep -q ' 0 differ' "$scratch/err" || fail "$1: $(cat "$scratch/err")"
    [ "$(state)" = "$(cat "$home/.local/share/hutch/instances/probe/default/state/a")" ] || fail "$1: the plain folder differs"
    ! find "$home/granted" -name '.hutch-*' | grep -q . || fail "$1: something is left in the granted folder"
    [ "$(hutch state diff --query changes.state probe)" = "[]" ] || fail "$1: an edit that nobody made"
}

case_of() {
    case $1 in
    write) line=(run "$probe" write-text state/a after) ;;
    mount) line=(run --mount "$home/granted:mnt:rw" "$probe" write-text mnt/a after) ;;
    move) line=(run --mount "$home/granted:mnt:rw" "$probe" rename mnt/a mnt/sub/a) ;;
    read) line=(run "$probe" read-file state/a) ;;
    undo) line=(undo probe) ;;
    esac
}

# Done to every call besides; what becomes of the machine behind the call.
always=() then=true

# One call, in which one system call of a kind has something done to it; its status.
inject() {
    local status=0
    env -i HOME="$home" PATH="$PATH" strace -f -qq -o /dev/null "${always[@]}" -e "trace=renameat2,$1" -e "inject=$1:$2" \
        "$program" "${line[@]}" >"$scratch/out" 2>"$scratch/said" || status=$?
    echo "$status"
}

# Each kind of call with the most that one thread makes of it: a line for each, as `5 pwrite64`.
count_calls() {
    fresh
    case_of "$what"
    env -i HOME="$home" PATH="$PATH" strace -f -qq -o "$scratch/calls" "${always[@]}" -e "trace=$changing" "$program" "${line[@]}" >/dev/null
    sed -E 's/^([0-9]+) +([a-z0-9_]+)\(.*/\1 \2/' "$scratch/calls" | grep -E '^[0-9]+ [a-z0-9_]+$' | sort | uniq -c |
        awk '{ if ($1 > most[$3]) most[$3] = $1 } END { for (call in most) print most[call], call }' | LC_ALL=C sort -k2
}

# What is waited for: a run that keeps state waits for the log, once, and for nothing else; one that reads waits for nothing.
what=write
for kind in write read write; do
    fresh
    case_of $kind
    env -i HOME="$home" PATH="$PATH" strace -f -y -qq -o "$scratch/syncs" \
        -e trace=fsync,fdatasync,syncfs,sync,sync_file_range,msync "$program" "${line[@]}" >/dev/null
    synced=$(sed -nE 's/^[0-9]+ +([a-z_]+)\([0-9]+<([^>]*)>.*/\1 \2/p; s/^[0-9]+ +(sync|msync)\(.*/\1/p' "$scratch/syncs")
    expected=
    [ $kind = read ] || expected="fdatasync $home/.local/share/hutch/instances/probe/default/hutch.db-wal"
    [ "$synced" = "$expected" ] || fail "$kind waits for: $synced"
done

# One of so many calls is tried, beginning with another one for each kind of fault.
every=${HUTCH_FAULTS_EVERY:-1} turn=0
# `campaign WHAT… -- FAULT…`: each of these runs with each of these faults at each of its calls.
campaign() {
    local runs=() what
    while [ "$1" != -- ]; do runs+=("$1"); shift; done
    shift
    for what in "${runs[@]}"; do faults_in "$@"; done
}
faults_in() {
    local calls call fault when
    count_calls >"$scratch/kinds"
    [ ${#always[@]} = 0 ] || grep -q 'EINVAL.*INJECTED' "$scratch/calls" || fail "$way: $what exchanges nothing"
    grep -q sync "$scratch/kinds" || [ "$what" = read ] || fail "$what makes nothing durable: $(cat "$scratch/kinds")"
    ! grep -q sync "$scratch/kinds" || [ "$what" != read ] || fail "a reading makes something durable: $(cat "$scratch/kinds")"
    for fault in "$@"; do
        while read -r calls call <&3; do
            # A call that fails each time does nothing that could be half done.
            [ ${#always[@]} = 0 ] || [ "$call" != renameat2 ] || continue
            for ((when = 1; when <= calls; when++)); do
                turn=$((turn + 1))
                [ $((turn % every)) = 0 ] || [ "$call" != pwrite64 ] || continue
                fresh
                case_of "$what"
                state_before=$(cat "$home/.local/share/hutch/instances/probe/default/state/a")
                granted_before=$(granted)
                entries_before=$(hutch ledger show --query sequence probe)
                status=$(inject "$call" "$fault:when=$when")
                name="$way: $what, $fault at $call $when of $calls (status $status)"
                $then
                now=$(state 2>"$scratch/err") || fail "$name: $(cat "$scratch/err")"
                whole "$name"
                granted_now=$(granted)
                changed=false
                [ "$now" = "$state_before" ] && [ "$granted_now" = "$granted_before" ] || changed=true
                case $what in
                write | undo) [ "$granted_now" = "$granted_before" ] || fail "$name: the granted folder changed" ;;
                mount | move) [ "$now" = "$state_before" ] || fail "$name: the state changed" ;;
                read) [ $changed = false ] || fail "$name: a reading changed something" ;;
                esac
                # A failure that says nothing else changed nothing; success changed everything.
                if [ "$status" = 0 ] && [ "$what" != read ]; then
                    [ $changed = true ] || fail "$name: it answered well, and nothing is kept"
                elif [ "$status" != 137 ] && [ "$status" != 0 ] && [ $changed = true ]; then
                    grep -q -e COMMIT_UNCERTAIN -e '"kept":true' "$scratch/said" ||
                        fail "$name: it failed, and what it did is kept: $(cat "$scratch/said")"
                fi
                [ "$(hutch ledger show --query sequence probe)" -ge "$entries_before" ] || fail "$name: entries are lost"
                [ "$fault" = signal=KILL ] && kills=$((kills + 1)) || failures=$((failures + 1))
            done
        done 3<"$scratch/kinds"
    done
}

way='as it is'
campaign write mount move read undo -- signal=KILL error=EIO error=ENOSPC

# As on NFS, SMB, exFAT, and in macOS and Windows: two files can't be exchanged.
way='without exchange'
always=(-e inject=renameat2:error=EINVAL)
campaign mount move -- signal=KILL error=EIO error=ENOSPC

# A loss of power: whatever was written has arrived, all memory is gone, and disks have other numbers.
again() {
    # Whoever was killed may still be on its way out.
    for _ in {1..100}; do ! umount "$base" 2>"$scratch/err" || break; sleep 0.1; done
    ! mountpoint -q "$base" || fail "$(cat "$scratch/err")"
    devices=("${devices[1]}" "${devices[0]}")
    mount "${devices[0]}" "$base"
    starts=$((starts + 1))
    printf '%08d-0000-4000-8000-000000000000\n' "$starts" >"$scratch/start"
    cmp -s "$scratch/start" /proc/sys/kernel/random/boot_id || fail "the system does not say another start"
}
anew() {
    local number
    number=$(stat -c %d "$home/granted")
    again
    [ "$(stat -c %d "$home/granted")" != "$number" ] || fail "the disk has its number still"
}
base=$scratch/disk
mkdir "$base"
printf 'first\n' >"$scratch/start"
truncate -s 256M "$scratch/image"
if [ -n "${HUTCH_FAULTS_APART-}" ] && mkfs.ext4 -q -F "$scratch/image" 2>/dev/null &&
    devices=("$(losetup -f --show "$scratch/image" 2>/dev/null)") &&
    devices+=("$(losetup -f --show "$scratch/image" 2>/dev/null)") && mount "${devices[0]}" "$base"; then
    mount --bind "$scratch/start" /proc/sys/kernel/random/boot_id
    rm -rf "$scratch"/template-*
    then=anew
    way='another start' always=()
    campaign write mount move undo -- signal=KILL
    way='without exchange, another start' always=(-e inject=renameat2:error=EINVAL)
    campaign mount move -- signal=KILL
    umount /proc/sys/kernel/random/boot_id
    rm -rf "$scratch"/template-*
else
    echo "faults.sh: another start of the machine is left out: it takes root, name spaces and two loop devices" >&2
fi
base=$scratch then=true always=()

# What somebody does with a granted folder between a kill and the next call: what is theirs stays theirs, and what is not put back is
# said.
half_done() {
    what=mount
    # The folder's own syncs first: they come before the entry that decides.
    for call in fsync fdatasync; do
        for ((when = 1; when < 100; when++)); do
            fresh
            case_of mount
            granted_before=$(granted)
            [ "$(inject $call "signal=KILL:when=$when")" = 137 ] || break
            [ "$(cat "$home/granted/a")" = after ] || continue
            find "$home/granted" -name '.hutch-*' | grep -q . || continue
            return
        done
    done
    fail "no kill leaves a granted folder half done"
}
unsettled() { hutch state diff probe | grep -q '"unsettled":\["'; }

half_done
mv "$home/granted" "$home/away"
mkdir "$home/granted"
unsettled || fail "another folder was taken for the one that is half done"
[ -z "$(ls -A "$home/granted")" ] || fail "another folder was changed"
rmdir "$home/granted"
mv "$home/away" "$home/granted"
! unsettled || fail "what came back is not put back"
[ "$(granted)" = "$granted_before" ] || fail "what came back is not as it was"
half_done
printf ' and mine' >>"$home/granted/a"
unsettled || fail "what somebody wrote was taken back in silence"
[ "$(cat "$home/granted/a")" = "after and mine" ] || fail "what somebody wrote is lost"
kills=$((kills + 2))

# A system without openat2, or one that forbids it: paths in a granted folder are taken apart, and lead no further.
fresh
printf secret >"$home/secret"
(cd "$home/granted" && ln -s ../secret out && ln -s .. above && ln -s /etc/passwd absolute && ln -s sub to-sub && ln -s sub/../a inside)
paths=(a sub/b to-sub/b inside to-sub/../a out out/ above/secret absolute ../secret sub/../../secret to-sub/../../secret a/ to-sub/)
for path in "${paths[@]}"; do
    line=(run --guard off --mount "$home/granted:mnt" "$probe" read-file "mnt/$path")
    hutch "${line[@]}" >"$scratch/expected" 2>/dev/null || true
    ! grep -q -e secret\" -e root: "$scratch/expected" || fail "$path leads out"
    for error in ENOSYS EPERM; do
        inject openat2 "error=$error" >/dev/null
        cmp -s "$scratch/expected" "$scratch/out" || fail "$path, $error at openat2: $(cat "$scratch/out" "$scratch/said")"
    done
done
env -i HOME="$home" PATH="$PATH" strace -f -qq -o "$scratch/calls" -e trace=openat2 "$program" "${line[@]}" >/dev/null || true
grep -q openat2 "$scratch/calls" || fail "no openat2 was ever made"
rm "$home/granted"/{out,above,absolute,to-sub,inside} "$home/secret"

# Two writers that repeat what was overtaken, and an editor that saves a file of its own, all at once.
what=write
fresh
writers=2 each=${HUTCH_WRITES:-25}
for ((writer = 0; writer < writers; writer++)); do
    for ((at = 0; at < each; at++)); do
        hutch run --retry 100 "$probe" write-text "state/$writer-$at" "$at" >/dev/null || fail "a writer was refused"
    done &
done
for ((at = 0; at < each * 4; at++)); do
    printf '%s' "$at" >"$home/.local/share/hutch/instances/probe/default/state/by-hand"
done
wait
printf last >"$home/.local/share/hutch/instances/probe/default/state/by-hand"
hutch instance copy probe other >/dev/null
whole "writers and an editor"
[ "$(hutch state cat --raw probe state/by-hand)" = last ] || fail "what the editor saved last is lost"
for ((writer = 0; writer < writers; writer++)); do
    for ((at = 0; at < each; at++)); do
        [ "$(hutch state cat --raw probe "state/$writer-$at")" = "$at" ] || fail "a write is lost: $writer-$at"
    done
done
echo "killed $kills times, $starts of them with another start behind, failed $failures times, $((writers * each)) writes beside an editor: nothing lost, nothing half done, nothing said that is not so"
