package main

import (
	"fmt"
	"go/ast"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// size is how large a type is.
type size struct {
	name    string
	methods int
	files   map[string]struct{} // that have a method of it
	fields  int
}

func printTypes(out io.Writer, files []*file) {
	types := make(map[string]*size)
	at := func(f *file, name string) *size {
		key := f.folder() + "." + name
		if types[key] == nil {
			types[key] = &size{name: key, files: make(map[string]struct{})}
		}
		return types[key]
	}
	for _, f := range files {
		if !f.product() {
			continue
		}
		for _, decl := range f.tree.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if name := receiver(decl); name != "" {
					s := at(f, name)
					s.methods++
					s.files[f.name] = struct{}{}
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						at(f, spec.Name.Name).fields = fields(spec)
					}
				}
			}
		}
	}
	all := make([]*size, 0, len(types))
	for _, name := range slices.Sorted(maps.Keys(types)) {
		all = append(all, types[name])
	}
	slices.SortStableFunc(all, func(a, b *size) int { return b.methods - a.methods })
	for _, s := range all[:min(8, len(all))] {
		row(out, "methods · files · fields of "+s.name, "%d · %d · %d", s.methods, len(s.files), s.fields)
	}
}

// receiver is the name of the type that a method is of.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

func fields(t *ast.TypeSpec) int {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return 0
	}
	n := 0
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

const module = "github.com/troupe-go/troupe"

// printArrows shows which folders of the root import each other: one of the two arrows runs
// upwards.
func printArrows(out io.Writer, files []*file) {
	arrows := make(map[string]int)
	for _, f := range files {
		from, _, inside := strings.Cut(f.name, "/")
		if !f.product() || !inside {
			continue
		}
		for _, spec := range f.tree.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if rest, ours := strings.CutPrefix(name, module+"/"); err == nil && ours {
				to, _, _ := strings.Cut(rest, "/")
				arrows[from+" → "+to]++
			}
		}
	}
	both := 0
	for _, arrow := range slices.Sorted(maps.Keys(arrows)) {
		from, to, _ := strings.Cut(arrow, " → ")
		if back := to + " → " + from; from < to && arrows[back] > 0 {
			both++
			row(out, "folders that import each other", "%s", fmt.Sprintf("%s (%d), %s (%d)", arrow, arrows[arrow], back, arrows[back]))
		}
	}
	row(out, "pairs of folders that import each other", "%d", both)
}
