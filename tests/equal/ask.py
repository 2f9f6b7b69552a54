"""Requests, one a line on standard input, answered by Python's package: {"status", "json", "out", "err"} a line. The argument is a home."""

import json
import sys

import hutch

host = hutch.Host(sys.argv[1])
for line in sys.stdin:
    try:
        answer = host.call(json.loads(line))
        told = {"status": answer.status, "json": answer.document, "out": answer.stdout.hex(), "err": answer.stderr.hex()}
    except hutch.Error as error:
        told = {"status": error.status, "json": {"error": True, "code": error.code, "message": error.message}, "out": "", "err": ""}
    print(json.dumps(told), flush=True)
