"""Ordinary Python: files, containers, exceptions, and a clock."""
import json, os, pathlib, sys, time


def deep(left):
    if left == 0:
        raise ValueError("thrown on purpose")
    deep(left - 1)


if sys.argv[1:] == ["throw"]:
    deep(20)
root = pathlib.Path("state")
(root / "a/b").mkdir(parents=True)
(root / "a/words.txt").write_text("the quick brown fox jumps over the lazy dog the end")
os.rename(root / "a/words.txt", root / "words.txt")
counts = {}
for word in (root / "words.txt").read_text().split():
    counts[word] = counts.get(word, 0) + 1
with open(root / "names.txt", "w") as names:
    names.write("\n".join(sorted(counts)))
with open(root / "names.txt", "r+b") as names:
    names.seek(2)
    names.write(b"OWN")
print(json.dumps(counts, sort_keys=True), sorted(str(path) for path in root.rglob("*")))
try:
    deep(200)
except ValueError as error:
    print("caught:", error)
try:
    open(root / "missing.txt")
except OSError as error:
    print("caught:", type(error).__name__, os.stat(root / "words.txt").st_size)
print(2**0.5, 2**100, "grün".upper(), sorted([3, 1, 2], reverse=True))
seconds = int(sys.argv[1]) if sys.argv[1:] else 3600
began = time.monotonic()
time.sleep(seconds)
print("waited:", str(time.monotonic() - began >= seconds).lower())
print("year:", time.gmtime().tm_year)
