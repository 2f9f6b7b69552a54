# Machines that share an instance, which are homes of their own here: clients are killed at random points, the server is killed and started
# again, a collector is at work. Afterwards everything that was acknowledged is there once, nothing is there twice, and the ledger can be run again
# from another home. Prints counts.
import json, os, random, signal, subprocess, sys, threading, time

hutch, repository, store, seconds, pg_ctl, data, log = sys.argv[1:8]
seconds = float(seconds)
seed = int(os.environ.get("HUTCH_CAMPAIGN_SEED", "1"))
MACHINES = 8
todo = os.path.join(repository, "packages/todo")
environment = {**os.environ, "HUTCH_STORE": store}
environment.pop("HUTCH_HOME", None)
end = time.monotonic() + seconds
lock = threading.Lock()
acknowledged, attempted, refused = {}, set(), {}
killed = servers = collections = 0


def count(table, key):
    with lock:
        table[key] = table.get(key, 0) + 1


def call(home, *words, timeout=60):
    return subprocess.run([hutch, "--home", home, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)


def machine(number):
    global killed
    chance = random.Random(seed * 1000 + number)
    home = f"machine-{number}"
    at = 0
    while time.monotonic() < end:
        at += 1
        title = f"m{number}-{at}"
        with lock:
            attempted.add(title)
        words = [hutch, "--home", home, "run", "--retry", "20", todo, "add", title]
        child = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if chance.random() < 0.4:
            # Anywhere in a call, the last part of which is the commit.
            try:
                child.wait(chance.random() * 0.12)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
        out, err = child.communicate()
        if child.returncode == 0:
            with lock:
                acknowledged[title] = json.loads(out)["items"][0]["id"]
        elif child.returncode == -signal.SIGKILL:
            with lock:
                killed += 1
        else:
            try:
                code = json.loads(err.splitlines()[-1])["code"]
            except (ValueError, IndexError, KeyError):
                code = err.decode(errors="replace")[:200]
            count(refused, code)


def collector():
    global collections
    while time.monotonic() < end:
        # Nothing of an entry goes, so what goes is what killed clients left: and perhaps what a living one needs.
        done = call("collector", "gc", "--keep", "1000000", "--yes", "todo")
        if done.returncode == 0:
            collections += 1
        time.sleep(0.2)


def server():
    global servers
    while time.monotonic() + 10 < end:
        time.sleep(min(8.0, seconds / 4))
        postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] if os.getuid() == 0 else []
        subprocess.run([*postgres, pg_ctl, "-D", data, "-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*postgres, pg_ctl, "-D", data, "-l", log, "-w", "start"], check=True, stdout=subprocess.DEVNULL)
        servers += 1


def answer(*words):
    done = call("judge", *words, timeout=600)
    assert done.returncode == 0, (words, done.stderr.decode())
    return json.loads(done.stdout)


first = call("judge", "run", todo, "list")
assert first.returncode == 0, first.stderr.decode()
listed = {}
threads = [threading.Thread(target=machine, args=(number,)) for number in range(MACHINES)]
threads += [threading.Thread(target=collector), threading.Thread(target=server)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

offset, total = 0, None
while total is None or offset < total:
    page = answer("run", todo, "list", "--limit", "100", "--offset", str(offset))
    total = page["total"]
    for item in page["items"]:
        listed.setdefault(item["title"], []).append(item["id"])
    offset += 100
ours = {title: ids for title, ids in listed.items() if title in attempted}
lost = [title for title in acknowledged if acknowledged[title] not in ours.get(title, [])]
double = [title for title, ids in ours.items() if len(ids) > 1]
unsaid = [title for title in ours if title not in acknowledged]
checked = answer("doctor", "todo")["result"]
print(f"   {MACHINES} machines, {seconds:.0f} s: {len(attempted)} calls, {len(acknowledged)} acknowledged, {killed} killed, refused {refused}")
print(f"   server killed {servers} times, {collections} collections, {checked['entries']} entries, {checked['objects']} objects")
print(f"   {len(lost)} lost, {len(double)} double, {len(unsaid)} kept without an answer, of calls that were killed or cut off")
assert not lost, lost
assert not double, double
assert len(unsaid) <= len(attempted) - len(acknowledged)
assert len(acknowledged) > MACHINES and killed > 0 and servers > 0 and collections > 0, "too little happened"
result = answer("verify", "--all", todo)["result"]
assert result["differ"] == 0, {name: result[name] for name in result if name != "items"}
print(f"   {result['equal']} runs made again from another home: all equal")
