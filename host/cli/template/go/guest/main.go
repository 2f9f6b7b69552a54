// An application for hutch: two commands and the state that they share. Nothing in it knows of WebAssembly, so `go test` tests it natively.
//
// The host has held each call against schemas/commands.json before it comes here, and answers --help and the like itself.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// What is kept and what is shown.
type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// The state, as its file holds it.
type notes struct {
	Version int    `json:"version"`
	NextID  string `json:"nextId"`
	Items   []note `json:"items"`
}

type added struct {
	OK      bool   `json:"ok"`
	Command string `json:"command"`
	Changed bool   `json:"changed"`
	Count   int    `json:"count"`
	Items   []note `json:"items"`
}

type listed struct {
	OK      bool   `json:"ok"`
	Command string `json:"command"`
	Count   int    `json:"count"`
	Total   int    `json:"total"`
	Limit   int    `json:"limit"`
	HasMore bool   `json:"hasMore"`
	Items   []note `json:"items"`
}

type refused struct {
	OK    bool    `json:"ok"`
	Error failure `json:"error"`
}

// The end of a call with one of the codes in schemas/commands.json.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	status  int
}

func (f failure) Error() string { return f.Message }

func usage(format string, values ...any) error {
	return failure{"USAGE", fmt.Sprintf(format, values...), 2}
}

func unavailable(err error) error { return failure{"STATE_UNAVAILABLE", err.Error(), 1} }

func main() {
	document, status := answer(os.Args[1:], "state")
	if _, err := os.Stdout.Write(line(document)); err != nil {
		os.Exit(1)
	}
	os.Exit(status)
}

// The document that answers a call, and its exit status. The folder is the one that the application keeps.
func answer(words []string, folder string) (any, int) {
	document, err := call(words, filepath.Join(folder, "notes.json"))
	var failed failure
	if errors.As(err, &failed) {
		return refused{false, failed}, failed.status
	}
	return document, 0
}

func call(words []string, file string) (any, error) {
	if len(words) == 0 {
		return nil, usage("the commands are add and list")
	}
	positional, limit, err := arguments(words[1:])
	if err != nil {
		return nil, err
	}
	switch words[0] {
	case "add":
		if len(positional) != 1 {
			return nil, usage("add takes one text")
		}
		return add(positional[0], file)
	case "list":
		if len(positional) != 0 {
			return nil, usage("list takes no text")
		}
		return list(limit, file)
	}
	return nil, usage("the commands are add and list")
}

func add(text, file string) (any, error) {
	kept, next, err := read(file)
	if err != nil {
		return nil, err
	}
	made := note{kept.NextID, text}
	kept.NextID = id(next + 1)
	kept.Items = append(kept.Items, made)
	if err := write(file, kept); err != nil {
		return nil, err
	}
	return added{true, "add", true, 1, []note{made}}, nil
}

func list(limit int, file string) (any, error) {
	kept, _, err := read(file)
	if err != nil {
		return nil, err
	}
	total := len(kept.Items)
	shown := kept.Items[:min(limit, total)]
	return listed{true, "list", len(shown), total, limit, total > limit, shown}, nil
}

// What is written bare, and the value of --limit.
func arguments(words []string) (positional []string, limit int, err error) {
	limit = 100
	for at := 0; at < len(words); at++ {
		value, isLimit := strings.CutPrefix(words[at], "--limit=")
		switch {
		case words[at] == "--":
			return append(positional, words[at+1:]...), limit, nil
		case words[at] == "--limit" && at+1 < len(words):
			at++
			value, isLimit = words[at], true
		}
		if !isLimit {
			positional = append(positional, words[at])
		} else if limit, err = strconv.Atoi(value); err != nil || limit < 1 {
			return nil, 0, usage("--limit is %q, expected a number from 1", value)
		}
	}
	return positional, limit, nil
}

func id(number int) string { return fmt.Sprintf("note_%04d", number) }

var ids = regexp.MustCompile("^note_([0-9]{4,9})$")

// The notes, and the number of the next one. A file that is not of this form is refused, and left as it is.
func read(file string) (notes, int, error) {
	kept := notes{Version: 1, NextID: id(1), Items: []note{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, 1, nil
	}
	if err != nil {
		return kept, 0, unavailable(err)
	}
	kept = notes{}
	err = json.Unmarshal(text, &kept)
	number := ids.FindStringSubmatch(kept.NextID)
	if err != nil || kept.Version != 1 || kept.Items == nil || number == nil {
		return kept, 0, failure{"STATE_CORRUPT", "notes.json is not what was written there", 1}
	}
	next, err := strconv.Atoi(number[1])
	return kept, next, err
}

// One note a line: what a call changes is then one line too, where the host shows it.
func write(file string, kept notes) error {
	text := fmt.Appendf(nil, `{"version":1,"nextId":%q,"items":[`, kept.NextID)
	for at, item := range kept.Items {
		if at > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), bytes.TrimSpace(line(item))...)
	}
	if err := os.WriteFile(file, append(text, "\n]}\n"...), 0o644); err != nil {
		return unavailable(err)
	}
	return nil
}

// A value as one line of JSON, in which <, > and & stand as they are.
func line(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // None of our types can fail.
	}
	return text.Bytes()
}
