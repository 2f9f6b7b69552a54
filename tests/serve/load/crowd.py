"""A crowd: many thousand connections that say nothing, and callers that want something meanwhile.

Called by tests/serve/load/run: crowd.py URL TOKEN PID COUNT. Says what became of the connections and of the callers, and how much memory the server took.
"""

import http.client
import json
import resource
import socket
import sys
import time
from urllib.parse import urlsplit

URL, TOKEN, PID, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
where = urlsplit(URL)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, COUNT + 200), hard))


def memory():
    with open(f"/proc/{PID}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def call():
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/packages/todo/run", json.dumps({"arguments": ["list"]}), headers)
        return connection.getresponse().status
    except OSError as error:
        return type(error).__name__
    finally:
        connection.close()


before, crowd, refused = memory(), [], 0
for _ in range(COUNT):
    one = socket.socket()
    try:
        one.settimeout(60)
        one.connect((where.hostname, where.port))
        crowd.append(one)
    except OSError:
        refused += 1
during, among = memory(), call()
since, status = time.monotonic(), None
while status != 200:
    status = call()
waited = time.monotonic() - since
print(f"crowd: {len(crowd)} connections that say nothing ({refused} could not be made); a call among them: {among}; "
      f"the next that was answered: after {waited:.1f} s; memory {before:.0f} MiB before, {during:.0f} with them, {memory():.0f} after")
