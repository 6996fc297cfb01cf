package docs_test

// The page on operations: its table has each message of the log, and no other.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	messageRow = regexp.MustCompile("(?m)^\\| (`[^|]+) \\| [a-z].*$")
	messageAt  = map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "say": 1, "pauseIfRepeated": 2, "Log": 2, "NewRecord": 2}
)

// Messages of the log are written where they are logged, or in an alarm's fields: so that both a
// reader and this test find them.
func TestTheTableOfMessagesIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	inCode, inTable := make(map[string]bool), make(map[string]bool)
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			message, err := strconv.Unquote(l.Value)
			require.NoError(t, err)
			inCode[message] = true
		}
	}
	for _, folder := range []string{"../actors", "../session", "../recipe", "../recipes", "../fxmodule", "../health", "../internal/logs"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.SelectorExpr); ok {
						if at, logs := messageAt[called.Sel.Name]; logs && at < len(n.Args) {
							add(n.Args[at])
						}
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Held" || key.Name == "Unreceived") {
						add(n.Value)
					}
				}
				return true
			})
			return nil
		}))
	}
	_, section, _ := strings.Cut(read(t, "operations.md"), "## What the log says")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, r := range messageRow.FindAllStringSubmatch(section, -1) {
		for _, m := range code.FindAllStringSubmatch(r[1], -1) {
			inTable[m[1]] = true
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(inCode)), slices.Sorted(maps.Keys(inTable)))
	require.Greater(t, len(inTable), 40)
}

// Whatever a line of the log says of a path is absolute: it comes of Session.Path, or of the
// session's own namespace. An Alarm, which logs its Path, is given one like that.
func TestPathsInTheLogAreAbsolute(t *testing.T) {
	t.Parallel()
	sites := 0
	absolute := func(set *token.FileSet, e ast.Expr) {
		sites++
		call, ok := e.(*ast.CallExpr)
		if ok {
			var called *ast.SelectorExpr
			called, ok = call.Fun.(*ast.SelectorExpr)
			ok = ok && strings.EqualFold(called.Sel.Name, "path")
		}
		if name, is := e.(*ast.Ident); is && name.Name == "absolute" {
			ok = true
		}
		if field, is := e.(*ast.SelectorExpr); is && field.Sel.Name == "Path" { // an alarm's
			owner, _ := field.X.(*ast.Ident)
			ok = owner != nil && owner.Name == "a"
		}
		require.True(t, ok, "%s: a path of a session is logged without the namespace", set.Position(e.Pos()))
	}
	for _, folder := range []string{"../session", "../recipe", "../recipes"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					for i, arg := range n.Args[:max(len(n.Args)-1, 0)] {
						if key, ok := arg.(*ast.BasicLit); ok && (key.Value == `"path"` || key.Value == `"parent"`) && i > 0 && logs(n) {
							absolute(set, n.Args[i+1])
						}
					}
				case *ast.CompositeLit:
					if kind, ok := n.Type.(*ast.SelectorExpr); ok && kind.Sel.Name == "Alarm" {
						for _, field := range n.Elts {
							if kv, ok := field.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Path" {
								absolute(set, kv.Value)
							}
						}
					}
				}
				return true
			})
			return nil
		}))
	}
	require.Greater(t, sites, 15)
}

// logs tells whether a call is one of those that log, or collect what is to be logged.
func logs(call *ast.CallExpr) bool {
	called, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	_, writes := messageAt[called.Sel.Name]
	return writes || called.Sel.Name == "With" || called.Sel.Name == "about"
}
