// Ordinary Go for an ordinary runtime: files by relative and by absolute names, in the folder "state"; goroutines, a panic that is caught
// and one that is not, and a clock.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func deep(left int) {
	if left == 0 {
		panic("thrown on purpose")
	}
	deep(left - 1)
}

func caught() (found any) {
	defer func() { found = recover() }()
	deep(200)
	return nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "throw" {
		deep(20)
	}
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
	fmt.Println(strings.Fields(string(text)), folder, full, found, os.IsNotExist(err))
	words := make(chan string)
	go func() {
		for _, word := range strings.Fields("the quick brown fox jumps over the lazy dog the end") {
			words <- word
		}
		close(words)
	}()
	counts := map[string]int{}
	for word := range words {
		counts[word]++
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Println(names, counts, caught())
	seconds := 3600
	if len(os.Args) > 1 {
		seconds, err = strconv.Atoi(os.Args[1])
		must(err)
	}
	begin := time.Now()
	time.Sleep(time.Duration(seconds) * time.Second)
	fmt.Println("waited:", time.Since(begin) >= time.Duration(seconds)*time.Second)
	fmt.Println("year:", time.Now().UTC().Year())
}
