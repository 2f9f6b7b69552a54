"""The ``hutch`` command: the program in this package."""

import os
import subprocess
import sys

from . import program


def main() -> int:
    """Becomes the program, or starts it where no process can become another."""
    path = program()
    if path is None:
        sys.stderr.write("this package was built without the hutch program\n")
        return 1
    words = [path] + sys.argv[1:]
    if os.name == "posix":
        os.execv(path, words)
    return subprocess.call(words)


if __name__ == "__main__":
    sys.exit(main())
