package main

import (
	"os"
	"path/filepath"
	"testing"
)

func ok(t *testing.T, folder string, words ...string) any {
	t.Helper()
	document, status := answer(words, folder)
	if status != 0 {
		t.Fatalf("%q: %v", words, document)
	}
	return document
}

func fails(t *testing.T, folder, code string, status int, words ...string) {
	t.Helper()
	document, ended := answer(words, folder)
	if told, is := document.(refused); !is || told.OK || told.Error.Code != code || ended != status {
		t.Fatalf("%q: %v, status %d", words, document, ended)
	}
}

func TestWhatIsAddedIsListed(t *testing.T) {
	folder := t.TempDir()
	if made := ok(t, folder, "add", "Buy milk").(added); made.Items[0].ID != "note_0001" {
		t.Fatal(made)
	}
	ok(t, folder, "add", "--", `-1 "é"`)
	if found := ok(t, folder, "list", "--limit=1").(listed); found.Total != 2 || found.Count != 1 || !found.HasMore {
		t.Fatal(found)
	}
	if found := ok(t, folder, "list", "--limit", "9").(listed); found.Items[1].Text != `-1 "é"` {
		t.Fatal(found)
	}
}

func TestOtherCallsAreRefused(t *testing.T) {
	for _, words := range [][]string{{}, {"nosuch"}, {"add"}, {"add", "a", "b"}, {"list", "x"}, {"list", "--limit", "0"}} {
		fails(t, t.TempDir(), "USAGE", 2, words...)
	}
}

func TestAFileOfSomethingElseIsLeftAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.json")
	for _, text := range []string{"", "[]", "{}", `{"version":2,"nextId":"note_0001","items":[]}`, `{"version":1,"nextId":"note_0002","items":[1]}`} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		fails(t, filepath.Dir(file), "STATE_CORRUPT", 1, "add", "x")
		if left, err := os.ReadFile(file); err != nil || string(left) != text {
			t.Fatalf("%s, %v", left, err)
		}
	}
}
