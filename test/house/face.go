package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io"
)

// countFace prints how many types package session exports, and how many names in all: types with
// their exported methods and fields, as far as the package declares them, functions, constants and
// variables.
func countFace(out io.Writer, files []*file) (over []string) {
	types, names := 0, 0
	count := func(exported bool) {
		if exported {
			names++
		}
	}
	for _, f := range files {
		if !f.product() || f.folder() != "session" {
			continue
		}
		for _, decl := range f.tree.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				count(decl.Name.IsExported() && (decl.Recv == nil || token.IsExported(receiver(decl))))
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							count(name.IsExported())
						}
					case *ast.TypeSpec:
						if !spec.Name.IsExported() {
							continue
						}
						types++
						names++
						for _, name := range members(spec.Type) {
							count(name.IsExported())
						}
					}
				}
			}
		}
	}
	fmt.Fprintf(out, "\nwhat session exports\n%-36s %7d\n%-36s %7d\n", "types", types, "names in all", names)
	if types > faceTypes {
		over = append(over, fmt.Sprintf("session: %d exported types, of %d", types, faceTypes))
	}
	if names > faceNames {
		over = append(over, fmt.Sprintf("session: %d exported names, of %d", names, faceNames))
	}
	return over
}

// members are the fields of a struct, or the methods of an interface, without embedded types.
func members(t ast.Expr) (names []*ast.Ident) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		names = append(names, field.Names...)
	}
	return names
}
