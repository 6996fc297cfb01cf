package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// countNames prints how often each name of gone is declared.
func countNames(out io.Writer, files []*file) (over []string) {
	spelled := make(map[string]string) // without capitals, as in gone
	for name := range gone {
		spelled[strings.ToLower(name)] = name
	}
	counts, packages := make(map[string]int), make(map[string]struct{})
	for _, f := range files {
		for _, name := range declared(f.tree) {
			if word, ok := spelled[strings.ToLower(name)]; ok {
				counts[word]++
			}
		}
		packages[f.folder()+" "+f.tree.Name.Name] = struct{}{}
	}
	for pack := range packages {
		if word, ok := spelled[strings.ToLower(pack[strings.Index(pack, " ")+1:])]; ok {
			counts[word]++
		}
	}
	fmt.Fprintf(out, "\nnames that are to go\n")
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%-36s %7d\n", name, counts[name])
		if counts[name] > gone[name] {
			over = append(over, fmt.Sprintf("%s: declared %d times, of %d", name, counts[name], gone[name]))
		}
	}
	return over
}

// declared are the names that a file declares, in functions too.
func declared(tree *ast.File) (names []string) {
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if ident, ok := e.(*ast.Ident); ok {
				names = append(names, ident.Name)
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

var numbered = regexp.MustCompile(`(?:\b|_|Test)B([0-9]{2})`)

// countFailures names the known failures of other libraries that no test mentions.
func countFailures(out io.Writer, files []*file) []string {
	seen := make(map[int]struct{})
	for _, f := range files {
		if !f.test() {
			continue
		}
		for _, line := range f.lines {
			for _, m := range numbered.FindAllStringSubmatch(line, -1) {
				n, _ := strconv.Atoi(m[1]) // it is two digits
				seen[n] = struct{}{}
			}
		}
	}
	var without []string
	for n := 1; n <= failures; n++ {
		_, found := seen[n]
		_, never := inapplicable[n]
		if !found && !never {
			without = append(without, fmt.Sprintf("B%02d: no test of this failure", n))
		}
	}
	fmt.Fprintf(out, "\n%-36s %7d of %d\n", "known failures with a test", failures-len(inapplicable)-len(without), failures-len(inapplicable))
	return without
}
