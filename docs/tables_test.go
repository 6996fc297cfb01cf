package docs_test

// The pages that map the calls of others to ours: what a row names exists. What it does is told by
// the tests of its package.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// named are the values and types by the names that the pages have for them.
var named = map[string]reflect.Type{
	"s": reflect.TypeFor[*session.Session](), "l": reflect.TypeFor[*lock.Lock](), "g": reflect.TypeFor[*lock.Grant](),
	"e": reflect.TypeFor[*election.Election](), "t": reflect.TypeFor[*election.Term](), "q": reflect.TypeFor[*queue.Queue](), "item": reflect.TypeFor[*queue.Item](),
	"Status": reflect.TypeFor[session.Status](), "Data": reflect.TypeFor[session.Data](), "Leadership": reflect.TypeFor[election.Leadership](),
}

var (
	row  = regexp.MustCompile("(?m)^\\| `[^`]+` \\|(.*)$")
	code = regexp.MustCompile("`([^`]+)`")
	name = regexp.MustCompile(`\b([A-Za-z]+)\.([A-Z]\w*)`)
)

func TestWhatARowOfATableNamesExists(t *testing.T) {
	t.Parallel()
	packages := map[string]map[string]bool{"time": {"Millisecond": true}}
	for folder, name := range map[string]string{
		"../session": "session", "../recipes/lock": "lock", "../recipes/election": "election", "../recipes/queue": "queue", "../recipes/fence": "fence",
	} {
		packages[name] = exported(t, folder)
	}
	for page, least := range map[string]int{"chubby.md": 25, "java-recipes.md": 20, "zookeeper-api.md": 12} {
		found := 0
		for _, r := range row.FindAllStringSubmatch(read(t, page), -1) {
			for _, span := range code.FindAllStringSubmatch(r[1], -1) {
				for _, m := range name.FindAllStringSubmatch(span[1], -1) {
					found++
					if of := packages[m[1]]; of != nil {
						require.True(t, of[m[2]], "%s: %s", page, m[0])
						continue
					}
					require.Contains(t, named, m[1], "%s: %s", page, span[1])
					require.True(t, has(named[m[1]], m[2]), "%s: %s of %s", page, m[2], named[m[1]])
				}
			}
		}
		require.GreaterOrEqual(t, found, least, page)
	}
}

// has reports whether a type has such a method or field.
func has(typ reflect.Type, name string) bool {
	if _, is := typ.MethodByName(name); is {
		return true
	}
	if typ.Kind() != reflect.Struct {
		return false
	}
	_, is := typ.FieldByName(name)
	return is
}

// exported are the names that a package declares, but for methods.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	for _, file := range files(t, ".go") {
		if strings.TrimSuffix(file, "_test.go") != file || file[:strings.LastIndexByte(file, '/')] != folder {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				all[d.Name.Name] = d.Recv == nil || all[d.Name.Name]
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						all[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							all[name.Name] = true
						}
					}
				}
			}
		}
	}
	return all
}

// What the page on ZooKeeper's Java recipes says of the states of an election.

// The states of java-recipes.md, in the order in which they come: the server is slow, so that none
// is replaced before it is received.
func TestEveryStateOfAnElectionIsAState(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		candidate := func(host string) *election.Election {
			e, err := election.New(t.Session(), "/election", election.WithName(host))
			require.NoError(t, err)
			return e
		}
		first, second := candidate("first"), candidate("second")
		first.Campaign()
		term := <-first.Leader()
		defer t.Server.Intercept(bubble.Slowly(1))()
		var seen []election.Status
		listener := second.ObserveStatus(t.Context())
		state := func() election.Status {
			s := <-listener
			seen = append(seen, s)
			return s
		}
		require.Equal(t, election.Idle, state().State)
		second.Campaign()
		for state().State != election.Waiting {
		}
		require.Equal(t, 1, seen[len(seen)-1].Ahead)
		require.NoError(t, term.Resign(t.Context()))
		for state().State != election.Leading {
		}
		<-second.Leader()
		var states []election.State
		for _, s := range seen {
			states = append(states, s.State)
		}
		states = slices.Compact(states)
		require.Equal(t, []election.State{election.Idle, election.Offering, election.Determining, election.Waiting}, states[:4])
		if states[4] == election.Determining { // anew, if it could not be sure that nobody else is ahead
			states = slices.Delete(states, 4, 5)
		}
		require.Equal(t, []election.State{election.Leading}, states[4:])
	})
}
