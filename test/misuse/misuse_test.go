// One table of what users get wrong: each argument of each constructor and option, nil, empty,
// negative, too large, foreign or closed, is a row of it. The error comes at once, has the name of
// the argument in it and, where a program could ask, a sentinel; nothing panics.
package misuse_test

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(m)
}

// row is a misuse. What is called comes first, up to the colon; [TestNothingIsForgotten] goes by
// that.
type row struct {
	call string
	try  func() error
	is   error  // nil: no sentinel stands for it
	says string // above all the argument's name; "…" stands for anything
}

// world is where the rows of an area are tried.
type world struct {
	*bubble.World
	s      *session.Session // connected
	other  *session.Session // of another process
	closed *session.Session
	system *session.Session // whose namespace is /zookeeper
}

func newWorld(w *bubble.World) *world {
	closed := w.Session()
	if err := closed.Close(w.Context()); err != nil {
		w.Fatal(err)
	}
	return &world{w, w.Session(), w.Session(), closed, w.Unconnected(session.WithNamespace("/zookeeper"))}
}

// areas are the rows, each area in a bubble of its own.
var areas = map[string]func(w *world) []row{
	"every recipe": everyRecipe, "lock": locks, "election": elections, "barrier": barriers, "fence": fences,
	"session": sessions, "operations": operations, "fxmodule": modules, "queue": queues, "twopc": commits, "group, config, naming": records,
}

func TestMisuses(t *testing.T) {
	t.Parallel()
	for name, area := range areas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(b *bubble.World) {
				w := newWorld(b)
				rows := area(w)
				before := w.znodes()
				for _, r := range rows {
					if wrong := r.wrong(); wrong != "" {
						w.Errorf("%s: %s", r.call, wrong)
					}
				}
				if after := w.znodes(); after != before {
					w.Errorf("something was made:\n%s\nbefore:\n%s", after, before)
				}
			})
		})
	}
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
	}
	rest, said := err.Error(), true
	for part := range strings.SplitSeq(r.says, "…") {
		if _, rest, said = strings.Cut(rest, part); !said {
			return fmt.Sprintf("%q does not say %q", err, r.says)
		}
	}
	return ""
}

// of is the error of a call that has another result too.
func of[T any](_ T, err error) error { return err }
