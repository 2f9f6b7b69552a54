# Machines that share an instance in a bucket, which are homes of their own here: clients are killed at random points, connections end at random
# bytes. Afterwards everything that was acknowledged is there once, nothing is there twice, and the ledger can be run again from another home.
# Prints counts.
import json, os, random, signal, subprocess, sys, threading, time

hutch, repository, machines, seconds, direct = sys.argv[1:6]
machines, seconds = int(machines), float(seconds)
seed = int(os.environ.get("HUTCH_CAMPAIGN_SEED", "1"))
todo = os.path.join(repository, "packages/todo")
environment = dict(os.environ)
environment.pop("HUTCH_HOME", None)
end = time.monotonic() + seconds
lock = threading.Lock()
acknowledged, attempted, refused = {}, set(), {}
killed = 0


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
            # Anywhere in a call, the last part of which is the commit. What reaches the bucket for it goes on for as long as one request takes.
            try:
                child.wait(chance.random() * 0.4)
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
            with lock:
                refused[code] = refused.get(code, 0) + 1


def answer(*words):
    done = subprocess.run([hutch, "--home", "judge", *words], env={**environment, "AWS_ENDPOINT_URL": direct}, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    assert done.returncode == 0, (words, done.stderr.decode())
    return json.loads(done.stdout)


answer("run", todo, "list")
listed = {}
threads = [threading.Thread(target=machine, args=(number,)) for number in range(machines)]
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
print(f"   {machines} machines, {seconds:.0f} s: {len(attempted)} calls, {len(acknowledged)} acknowledged, {killed} killed, refused {refused}")
print(f"   {checked['entries']} entries, {checked['objects']} objects")
print(f"   {len(lost)} lost, {len(double)} double, {len(unsaid)} kept without an answer, of calls that were killed or cut off")
assert not lost, lost
assert not double, double
assert len(unsaid) <= len(attempted) - len(acknowledged)
assert len(acknowledged) > machines and killed > 0, "too little happened"
result = answer("verify", "--all", todo)["result"]
assert result["differ"] == 0, {name: result[name] for name in result if name != "items"}
print(f"   {result['equal']} runs made again from another home: all equal")
