package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/troupe-go/troupe"

func main() {
	op := flag.String("way", "", "print the way of this operation, and count nothing")
	flag.Parse()
	over, err := measure(".", *op, os.Stdout)
	if err == nil && len(over) > 0 {
		err = errors.New("above its budget:\n" + strings.Join(over, "\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// measure prints what it counts, and returns a line for everything above its budget. With an
// operation it prints its way alone.
func measure(root, op string, out io.Writer) (over []string, err error) {
	files, err := read(root)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("no Go files here")
	}
	linked, err := link(root)
	if err != nil {
		return nil, err
	}
	stages, err := way(root, cmp.Or(op, "lock"), files, linked)
	if err != nil {
		return nil, err
	}
	if op != "" {
		printWay(out, stages)
		return nil, nil
	}
	program, err := build(root, "./test/house/minimal")
	if err != nil {
		return nil, err
	}
	over = slices.Concat(countLines(out, files), countSums(out, files, linked), countLinked(out, program), countTypes(out, stages))
	for _, count := range []func(io.Writer, []*file) []string{countMethods, countFace, countArrows, countNames, countFailures} {
		over = append(over, count(out, files)...)
	}
	return over, nil
}

// file is a Go file of the module.
type file struct {
	name  string // with slashes, from the module's root
	lines []string
	tree  *ast.File
	set   *token.FileSet // where in the text the nodes of tree are
}

func (f *file) folder() string { return path.Dir(f.name) }

func (f *file) test() bool { return strings.HasSuffix(f.name, "_test.go") }

// product reports whether a user's program may link it: no test, no example, no measurement.
func (f *file) product() bool {
	if f.test() || f.folder() == "internal/test/bubble" || f.folder() == "internal/test/tier" {
		return false
	}
	switch top, _, _ := strings.Cut(f.name, "/"); top {
	case "examples", "docs", "test", "bench", "interop", "tools", "deploy":
		return false
	default:
		return true
	}
}

func read(root string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "tools") {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := parse(root, name)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

func parse(root, name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	f := &file{name: filepath.ToSlash(relative), lines: strings.Split(string(text), "\n"), set: token.NewFileSet()}
	f.tree, err = parser.ParseFile(f.set, name, text, parser.SkipObjectResolution)
	return f, err
}
