"""What the application keeps and answers. It knows nothing of WebAssembly, so `python3 -m unittest` tests it natively.

The host has held each call against `schemas/commands.json` before it comes here, and answers `--help` and the like itself.
"""

import json
import re

EXIT_STATUS = {"USAGE": 2, "STATE_CORRUPT": 1, "STATE_UNAVAILABLE": 1}


class Failure(Exception):
    """The end of a call with one of the codes in `schemas/commands.json`."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def answer(words, state):
    """The document that answers a call, and its exit status. `state` is the folder that the application keeps."""
    try:
        return COMMANDS[command_of(words)](words[1:], state / "notes.json"), 0
    except Failure as failure:
        error = {"code": failure.code, "message": str(failure)}
        return {"ok": False, "error": error}, EXIT_STATUS[failure.code]


def command_of(words):
    if words and words[0] in COMMANDS:
        return words[0]
    raise Failure("USAGE", f"the commands are {' and '.join(COMMANDS)}")


def add(words, file):
    positional, _ = arguments(words)
    if len(positional) != 1:
        raise Failure("USAGE", "add takes one text")
    next_id, notes = read(file)
    note = {"id": f"note_{next_id:04}", "text": positional[0]}
    write(file, next_id + 1, [*notes, note])
    return {"ok": True, "command": "add", "changed": True, "count": 1, "items": [note]}


def list_notes(words, file):
    positional, limit = arguments(words)
    if positional:
        raise Failure("USAGE", "list takes no text")
    _, notes = read(file)
    return {
        "ok": True,
        "command": "list",
        "count": len(notes[:limit]),
        "total": len(notes),
        "limit": limit,
        "hasMore": len(notes) > limit,
        "items": notes[:limit],
    }


COMMANDS = {"add": add, "list": list_notes}


def arguments(words):
    """What is written bare, and the value of `--limit`."""
    positional, limit, words = [], "100", iter(words)
    for word in words:
        if word == "--":
            positional.extend(words)
        elif word == "--limit":
            limit = next(words, "")
        elif word.startswith("--limit="):
            limit = word.removeprefix("--limit=")
        else:
            positional.append(word)
    if not re.fullmatch("[1-9][0-9]{0,4}", limit):
        raise Failure("USAGE", f"--limit is {limit!r}, expected a number from 1")
    return positional, int(limit)


def read(file):
    """The number of the next note, and the notes. A file that is not of this form is refused, and left as it is."""
    try:
        kept = json.loads(file.read_text("utf-8"))
        next_id, notes = re.fullmatch("note_([0-9]{4,9})", kept["nextId"]), kept["items"]
        known = kept["version"] == 1 and all(isinstance(note["id"] + note["text"], str) for note in notes)
    except FileNotFoundError:
        return 1, []
    except OSError as error:
        raise Failure("STATE_UNAVAILABLE", f"notes.json can't be read: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Failure("STATE_CORRUPT", f"notes.json is not what was written there: {error!r}") from error
    if not (known and next_id):
        raise Failure("STATE_CORRUPT", "notes.json is not what was written there")
    return int(next_id[1]), notes


def write(file, next_id, notes):
    """One note a line: what a call changes is then one line too, where the host shows it."""
    lines = ",\n".join(json.dumps(note, ensure_ascii=False, separators=(",", ":")) for note in notes)
    try:
        file.write_text(f'{{"version":1,"nextId":"note_{next_id:04}","items":[\n{lines}\n]}}\n', "utf-8")
    except OSError as error:
        raise Failure("STATE_UNAVAILABLE", f"notes.json can't be written: {error}") from error
