import tempfile
import unittest
from pathlib import Path

from notes import answer


class Notes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.state = Path(folder.name)

    def ok(self, *words):
        document, status = answer(list(words), self.state)
        self.assertEqual((document["ok"], status), (True, 0), document)
        return document

    def refused(self, *words):
        document, status = answer(list(words), self.state)
        self.assertEqual(document["ok"], False)
        return document["error"]["code"], status

    def test_what_is_added_is_listed(self):
        self.assertEqual(self.ok("add", "Buy milk")["items"][0]["id"], "note_0001")
        self.ok("add", "--", '-1 "é"')
        listed = self.ok("list", "--limit=1")
        self.assertEqual((listed["total"], listed["count"], listed["hasMore"]), (2, 1, True))
        self.assertEqual(self.ok("list", "--limit", "9")["items"][1]["text"], '-1 "é"')

    def test_other_calls_are_refused(self):
        for words in [[], ["nosuch"], ["add"], ["add", "a", "b"], ["list", "x"], ["list", "--limit", "0"]]:
            self.assertEqual(self.refused(*words), ("USAGE", 2), words)

    def test_a_file_of_something_else_is_left_as_it_is(self):
        for text in ["", "[]", "{}", '{"version":2,"nextId":"note_0001","items":[]}', '{"version":1,"nextId":"note_0002","items":[1]}']:
            (self.state / "notes.json").write_text(text)
            self.assertEqual(self.refused("add", "x"), ("STATE_CORRUPT", 1), text)
            self.assertEqual((self.state / "notes.json").read_text(), text)


if __name__ == "__main__":
    unittest.main()
