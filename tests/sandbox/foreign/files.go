// Ordinary Go for an ordinary runtime: files by relative and by absolute names, in the folder "state".
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func main() {
	must(os.MkdirAll("state/a/b", 0o777))
	must(os.WriteFile("state/a/b/one.txt", []byte("relative\n"), 0o666))
	must(os.WriteFile("/state/a/two.txt", []byte("absolute\n"), 0o666))
	file, err := os.OpenFile("/state/a/two.txt", os.O_APPEND|os.O_WRONLY, 0)
	must(err)
	_, err = file.WriteString("appended\n")
	must(err)
	must(file.Close())
	text, err := os.ReadFile("state/a/two.txt")
	must(err)
	must(os.Rename("state/a/b/one.txt", "/state/one.txt"))
	folder, err := os.Getwd()
	must(err)
	full, err := filepath.Abs("state/one.txt")
	must(err)
	var found []string
	must(filepath.Walk("/", func(path string, _ os.FileInfo, err error) error {
		found = append(found, path)
		return err
	}))
	_, err = os.ReadFile("/etc/passwd")
	begin := time.Now()
	time.Sleep(time.Hour)
	fmt.Println(strings.Fields(string(text)), folder, full, found, os.IsNotExist(err), time.Since(begin).Round(time.Minute))
}
