// One table of what users get wrong: each argument of each constructor and option, nil, empty,
// negative, too large, foreign or closed, is a row of it. The error comes at once, has the name of
// the argument in it and, where a program could ask, a sentinel; nothing panics.
package misuse_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

// row is a misuse. The function it is about comes first in call, up to the colon.
type row struct {
	call string
	try  func() error
	is   error  // nil: no sentinel stands for it
	says string // above all the argument's name; "…" stands for anything
}

// world is where the rows of an area are tried.
type world struct {
	*bubble.World
	s, closed *session.Session
	below     *session.Session // whose namespace is /a
}

// areas are the rows, each area in a bubble of its own.
var areas = map[string]func(w *world) []row{
	"every recipe": everyRecipe, "lock": locks, "election, barrier": elections, "fence": fences, "queue": queues, "twopc": commits,
	"group, config, naming": records, "session": sessions, "operations": operations, "fxmodule": modules, "behaviour": behaviours,
}

// harmless are functions that nothing can be wrong with: why.
var harmless = map[string]string{
	"session.WithRetry": "a RetryPolicy is always one: what is negative is none",
	"queue.WithError":   "a nil error is none",
	"recipe.NewHandle":  "without a session it ends by Close alone",
	"recipe.NewTenure":  "it describes what a host has",
}

func TestMisuses(t *testing.T) { //nolint:tparallel // what was tried is looked at when all has been
	t.Parallel()
	var tried sync.Map
	t.Run("rows", func(t *testing.T) {
		for name, area := range areas {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(b *bubble.World) {
					w := &world{b, b.Session(), b.Session(), b.Unconnected(session.WithNamespace("/a"))}
					require.NoError(w, w.closed.Close(w.Context()))
					rows := area(w)
					before := w.znodes()
					for _, r := range rows {
						function, _, _ := strings.Cut(r.call, ":")
						tried.Store(function, true)
						if wrong := r.wrong(); wrong != "" {
							w.Errorf("%s: %s", r.call, wrong)
						}
					}
					if name != "behaviour" {
						require.Equal(w, before, w.znodes(), "something was made")
					}
				})
			})
		}
	})
	for _, name := range exported(t) {
		_, has := tried.Load(name)
		_, is := harmless[name]
		require.NotEqual(t, has, is, "%s: a row, or a reason why it needs none", name)
	}
}

// exported are the constructors and options of the packages, those without an argument aside.
func exported(t *testing.T) (names []string) {
	for _, pattern := range []string{"actors/*.go", "session/*.go", "recipe/*.go", "recipes/[a-z]*/*.go", "fxmodule/*.go"} {
		files, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			for _, d := range tree.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "../../recipes/internal/") || f.Recv != nil || !f.Name.IsExported() || f.Type.Params.NumFields() == 0 || f.Type.Results == nil {
					continue
				}
				name, result := f.Name.Name, fmt.Sprint(f.Type.Results.List[0].Type) // fx.Option is &{fx Option}
				if strings.HasPrefix(name, "New") || strings.HasPrefix(name, "With") || strings.HasSuffix(strings.TrimSuffix(result, "}"), "Option") {
					names = append(names, path.Base(filepath.Dir(file))+"."+name)
				}
			}
		}
	}
	require.Greater(t, len(names), 80)
	return names
}

// znodes are all that there are.
func (w *world) znodes() string {
	synctest.Wait()
	_, znodes, _ := strings.Cut(w.Server.Dump(), "\n") // below the number of what was tried
	return znodes
}

// wrong is what is wrong with the answer to a misuse; "" if nothing is.
func (r row) wrong() (wrong string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = fmt.Sprintf("it panics: %v\n%s", p, debug.Stack())
		}
	}()
	err := r.try()
	switch {
	case err == nil:
		return "it is accepted"
	case r.is != nil && !errors.Is(err, r.is):
		return fmt.Sprintf("%q is not %q", err, r.is)
	case strings.Contains(err.Error(), "hunter2"):
		return fmt.Sprintf("%q has a secret in it", err)
	}
	rest := "^" + err.Error() // as in an expression, its beginning
	for part := range strings.SplitSeq(r.says, "…") {
		_, behind, said := strings.Cut(rest, part)
		if !said {
			return fmt.Sprintf("%q does not say %q", err, r.says)
		}
		rest = behind
	}
	return ""
}

// call calls a function, whose last result is an error. A nil among the arguments is the nil of
// whatever the function takes, and a number is of its type.
func call(f any, args ...any) func() error {
	return func() error {
		out := results(f, args...)
		err, _ := reflect.TypeAssert[error](out[len(out)-1])
		return err
	}
}

func results(f any, args ...any) []reflect.Value {
	v, in := reflect.ValueOf(f), make([]reflect.Value, len(args))
	for i, arg := range args {
		takes := v.Type().In(min(i, v.Type().NumIn()-1))
		if v.Type().IsVariadic() && i >= v.Type().NumIn()-1 {
			takes = takes.Elem()
		}
		in[i] = reflect.Zero(takes)
		if arg != nil {
			in[i] = reflect.ValueOf(arg).Convert(takes)
		}
	}
	return v.Call(in)
}

// of is call for a function that takes options behind its arguments.
func of(f any, args ...any) func(opts ...any) func() error {
	return func(opts ...any) func() error { return call(f, append(slices.Clip(args), opts...)...) }
}

// values are the rows of one argument's values: try makes the call with one.
func values[V any](function string, try func(v V) func() error, is error, says string, all ...V) (rows []row) {
	for _, v := range all {
		rows = append(rows, row{fmt.Sprintf("%s: %#.20v", function, v), try(v), is, says})
	}
	return rows
}

// each are the rows of an option's values: with says what the option is given to. The error has the
// option's name.
func each(function string, option any, with func(opts ...any) func() error, is error, all ...any) []row {
	_, name, _ := strings.Cut(function, ".")
	return values(function, func(v any) func() error {
		return func() error { return with(results(option, v)[0].Interface())() }
	}, is, name+": ", all...)
}

// must is what a test needs that is no misuse.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
