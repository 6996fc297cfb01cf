package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A function is on the way if it runs in more than half of the rounds. What runs only when the
// program begins or ends, when a timer fires or in a rare order of events does not count.
const (
	fewRounds  = 10
	manyRounds = 110
)

// printWays counts what is on the way of each operation that the small program knows.
func printWays(out io.Writer, root string, list bool) error {
	dir, err := os.MkdirTemp("", "house")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nobody needs the profiles any more
	program := filepath.Join(dir, "way")
	if err := run(root, nil, "go", "build", "-cover", "-covermode=count", "-coverpkg=./...", "-o", program, "./test/house/way"); err != nil {
		return err
	}
	for _, way := range []struct{ name, what string }{
		{"lock", "Acquire → Acquired → Release"},
		{"watch", "Set → a WatchData reader receives"},
	} {
		few, err := profile(root, dir, program, way.name, fewRounds)
		if err != nil {
			return err
		}
		many, err := profile(root, dir, program, way.name, manyRounds)
		if err != nil {
			return err
		}
		var functions []string
		files, packages := make(map[string]bool), make(map[string]bool)
		for f, n := range many {
			if n-few[f] > (manyRounds-fewRounds)/2 {
				functions = append(functions, f.file+" "+f.name)
				files[f.file] = true
				packages[path.Dir(f.file)] = true
			}
		}
		row(out, "functions · files · packages of "+way.what, "%d · %d · %d", len(functions), len(files), len(packages))
		if list {
			slices.Sort(functions)
			_, _ = fmt.Fprintln(out, strings.Join(functions, "\n"))
		}
	}
	return nil
}

func run(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	var text bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, text.Bytes())
	}
	return nil
}

// function is one of a file; a method is named with its type in front.
type function struct{ file, name string }

// profile tells how often each function ran.
func profile(root, dir, program, what string, rounds int) (map[function]int, error) {
	times := strconv.Itoa(rounds)
	data := filepath.Join(dir, what+times)
	text := data + ".txt"
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if err := run(root, []string{"GOCOVERDIR=" + data}, program, what, times); err != nil {
		return nil, err
	}
	if err := run(root, nil, "go", "tool", "covdata", "textfmt", "-i="+data, "-o="+text); err != nil {
		return nil, err
	}
	f, err := os.Open(text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	counts := make(map[function]int)
	bounds := make(map[string][]span)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, begin, count, ok := block(lines.Text())
		if !ok || leftOut(name) {
			continue
		}
		if bounds[name] == nil {
			if bounds[name], err = spans(root, name); err != nil {
				return nil, err
			}
		}
		for _, f := range bounds[name] {
			if f.first <= begin && begin <= f.last {
				key := function{name, f.name}
				counts[key] = max(counts[key], count)
			}
		}
	}
	return counts, lines.Err()
}

// block reads a line of a profile: "module/folder/file.go:12.3,14.5 2 7".
func block(line string) (name string, begin, count int, ok bool) {
	place, numbers, _ := strings.Cut(line, " ")
	name, at, found := strings.Cut(strings.TrimPrefix(place, module+"/"), ":")
	if !found || !strings.HasSuffix(name, ".go") {
		return "", 0, 0, false
	}
	first, _, _ := strings.Cut(at, ".")
	_, last, _ := strings.Cut(numbers, " ")
	begin, err := strconv.Atoi(first)
	if err != nil {
		return "", 0, 0, false
	}
	count, err = strconv.Atoi(last)
	return name, begin, count, err == nil
}

func leftOut(name string) bool {
	for _, folder := range []string{"internal/zkserver/", "internal/jute/", "zktest/", "test/"} {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

// span is the lines of a function.
type span struct {
	name        string
	first, last int
}

func spans(root, name string) ([]span, error) {
	f, err := parse(root, filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	all := []span{}
	for _, decl := range f.tree.Decls {
		if decl, ok := decl.(*ast.FuncDecl); ok {
			name := strings.TrimPrefix(receiver(decl)+"."+decl.Name.Name, ".")
			all = append(all, span{name, f.set.Position(decl.Pos()).Line, f.set.Position(decl.End()).Line})
		}
	}
	return all, nil
}
