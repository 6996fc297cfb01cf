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

// countMethods prints the types with the most methods.
func countMethods(out io.Writer, files []*file) (over []string) {
	methods := make(map[string]int)
	for _, f := range files {
		if !f.product() {
			continue
		}
		for _, decl := range f.tree.Decls {
			if decl, ok := decl.(*ast.FuncDecl); ok && decl.Recv != nil {
				methods[f.folder()+"."+receiver(decl)]++
			}
		}
	}
	names := slices.Sorted(maps.Keys(methods))
	slices.SortStableFunc(names, func(a, b string) int { return methods[b] - methods[a] })
	fmt.Fprintf(out, "\nmethods, at most %d\n", most)
	for _, name := range names[:min(8, len(names))] {
		fmt.Fprintf(out, "%-44s %3d\n", name, methods[name])
	}
	for _, name := range names {
		if allowed := max(most, larger[name]); methods[name] > allowed {
			over = append(over, fmt.Sprintf("%s: %d methods, of %d", name, methods[name], allowed))
		}
	}
	return over
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
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

// countArrows prints the imports that run upwards: from a folder of the root to one above it.
func countArrows(out io.Writer, files []*file) (over []string) {
	arrows := make(map[string]int)
	for _, f := range files {
		from, _, within := strings.Cut(f.name, "/")
		if !f.product() || !within {
			continue
		}
		for _, spec := range f.tree.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			rest, ours := strings.CutPrefix(name, module+"/")
			to, _, _ := strings.Cut(rest, "/")
			if err == nil && ours && slices.Index(layers, from) < slices.Index(layers, to) {
				arrows[from+" → "+to]++
			}
		}
	}
	fmt.Fprintf(out, "\n%-36s %7d\n", "imports that run upwards", len(arrows))
	for _, arrow := range slices.Sorted(maps.Keys(arrows)) {
		fmt.Fprintf(out, "%-36s %7d\n", arrow, arrows[arrow])
		if arrows[arrow] > upwards[arrow] {
			over = append(over, fmt.Sprintf("%s: %d imports that run upwards, of %d", arrow, arrows[arrow], upwards[arrow]))
		}
	}
	return over
}
