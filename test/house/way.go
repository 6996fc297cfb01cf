package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// stage has the functions that run from one event to the next: see test/way.
type stage struct {
	title     string
	functions []function // by file and line
}

// function is a function that is declared in a file of the module.
type function struct {
	*file
	line     int
	receiver string // of a method
	name     string
}

func (f function) String() string {
	return strings.TrimPrefix(f.receiver+"."+f.name, ".")
}

// way runs an operation, and returns its stages. The codec is left out: the server in the same
// program runs it as well.
func way(root, op string, files []*file, linked []string) ([]stage, error) {
	dir, err := os.MkdirTemp("", "way")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it has been read
	linked = slices.DeleteFunc(slices.Clone(linked), func(folder string) bool { return folder == "internal/jute" })
	covered := module + "/" + strings.Join(append(linked, "test/way"), ","+module+"/") // the command itself, or nothing is counted
	if _, err := run(root, dir, "go", "run", "-trimpath", "-cover", "-covermode=atomic", "-coverpkg="+covered, "./test/way", "-op="+op, "-into="+dir); err != nil {
		return nil, err
	}
	titles, err := filepath.Glob(filepath.Join(dir, "*", "title"))
	if err != nil {
		return nil, err
	}
	var stages []stage
	for _, name := range titles {
		title, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		profile := name + ".txt"
		if _, err := run(root, dir, "go", "tool", "covdata", "textfmt", "-i="+filepath.Dir(name), "-o="+profile); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(profile)
		if err != nil {
			return nil, err
		}
		stages = append(stages, stage{string(title), functions(files, text)})
	}
	return stages, nil
}

// run returns what a command prints, in an error too.
func run(root, coverage, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOCOVERDIR="+coverage)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out), nil
}

// functions are those that have run according to a profile, by file and line. A line of it is
// "module/folder/file.go:12.3,14.5 2 7": from 12.3 to 14.5 there are two statements, which ran
// seven times.
func functions(files []*file, profile []byte) []function {
	ran := make(map[string][]int) // the first lines of the statements that ran in a file
	for lines := bufio.NewScanner(bytes.NewReader(profile)); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		first, _, _ := strings.Cut(rest, ".")
		line, err := strconv.Atoi(first)
		if name, ours := strings.CutPrefix(name, module+"/"); ours && err == nil && !strings.HasSuffix(rest, " 0") {
			ran[name] = append(ran[name], line)
		}
	}
	return all(files, func(f *file, first, last int) bool {
		return slices.ContainsFunc(ran[f.name], func(line int) bool { return first <= line && line <= last })
	})
}

// all are the functions of the product for which is returns true: for their file, first line and
// last line. They are sorted by file and line.
func all(files []*file, is func(f *file, first, last int) bool) (found []function) {
	for _, f := range files {
		if !f.product() {
			continue
		}
		for _, decl := range f.tree.Decls {
			decl, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := f.set.Position(decl.Pos()).Line, f.set.Position(decl.End()).Line
			if !is(f, first, last) {
				continue
			}
			function := function{file: f, line: first, name: decl.Name.Name}
			if decl.Recv != nil {
				function.receiver = receiver(decl)
			}
			found = append(found, function)
		}
	}
	slices.SortStableFunc(found, func(a, b function) int { return cmp.Compare(a.file.name, b.file.name) })
	return found
}

// printWay prints a way, and the numbers of its functions and types.
func printWay(out io.Writer, stages []stage) {
	on, in, types := make(map[string]struct{}), make(map[string]struct{}), typesOf(stages)
	for _, s := range stages {
		fmt.Fprintln(out, s.title)
		for _, f := range s.functions {
			place := f.file.name + ":" + strconv.Itoa(f.line)
			on[place], in[f.folder()] = struct{}{}, struct{}{}
			fmt.Fprintf(out, "    %-52s %s\n", place, f)
		}
	}
	fmt.Fprintf(out, "%d functions, of %d types, in %d packages\n", len(on), len(types), len(in))
}

// countTypes prints how many types have methods on the way of a held lock.
func countTypes(out io.Writer, stages []stage) (over []string) {
	types := len(typesOf(stages))
	fmt.Fprintf(out, "%-36s %7d %7d\n", "types on the way of a held lock", types, wayTypes)
	if types > wayTypes {
		over = append(over, fmt.Sprintf("types on the way of a held lock: %d, of %d (make way OP=lock)", types, wayTypes))
	}
	return over
}

// typesOf are the types whose methods run on a way.
func typesOf(stages []stage) map[string]struct{} {
	types := make(map[string]struct{})
	for _, s := range stages {
		for _, f := range s.functions {
			if f.receiver != "" {
				types[f.folder()+"."+f.receiver] = struct{}{}
			}
		}
	}
	return types
}

// link returns the folders of the module that a program with all recipes links.
func link(root string) ([]string, error) {
	text, err := run(root, "", "go", "list", "-deps", "./recipes/...")
	if err != nil {
		return nil, err
	}
	var folders []string
	for name := range strings.FieldsSeq(text) {
		if folder, ours := strings.CutPrefix(name, module+"/"); ours {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
