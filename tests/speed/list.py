"""What the to-do application's `list` does, in CPython: reads the state, answers with the first hundred items."""
import json
import sys

with open("state/todos.json", encoding="utf-8") as state:
    items = json.load(state)["items"]
shown = items[:100]
answer = {"ok": True, "command": "list", "count": len(shown), "total": len(items), "items": shown}
json.dump(answer, sys.stdout, separators=(",", ":"))
print()
