"""The component: one call, from the process's arguments to its standard output and its end."""

import json
import sys
from pathlib import Path

from wit_world import exports
from wit_world.imports import exit

# What is imported here is loaded when the component is built, not when it runs.
import notes


class Run(exports.Run):
    def run(self):
        document, status = notes.answer(sys.argv[1:], Path("state"))
        print(json.dumps(document, ensure_ascii=False, separators=(",", ":")), flush=True)
        if status != 0:
            exit.exit_with_code(status)
