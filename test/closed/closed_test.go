// What a closed session leaves in memory while the context of its subscriptions and waits lives on,
// such as the process's own: nothing. The table is every method that takes a context, as package
// reflect finds them, of whatever is made on a session.
package closed_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

// must is for what can't fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// things have methods that take a context. Each is made on a session of its own. Another session
// holds "/held" and leads "/led", and "/data" has data.
var things = map[string]func(ctx context.Context, s *session.Session) any{
	"session":        func(_ context.Context, s *session.Session) any { return s },
	"handle":         func(_ context.Context, s *session.Session) any { return recipe.NewHandle(s, "thing", "/a") },
	"lock":           func(_ context.Context, s *session.Session) any { return must(lock.New(s, "/a")) },
	"lock, waiting":  func(_ context.Context, s *session.Session) any { return must(lock.New(s, "/held")) },
	"grant":          func(ctx context.Context, s *session.Session) any { return must(must(lock.NewWrite(s, "/a")).Lock(ctx)) },
	"multi, waiting": func(_ context.Context, s *session.Session) any { return several(s, "/held") },
	"multi grant":    func(ctx context.Context, s *session.Session) any { return must(several(s, "/a").Lock(ctx)) },
	"election":       func(_ context.Context, s *session.Session) any { return must(election.New(s, "/a")) },
	"candidate":      func(_ context.Context, s *session.Session) any { return must(election.New(s, "/led")) },
	"term":           func(ctx context.Context, s *session.Session) any { return must(must(election.New(s, "/a")).Lead(ctx)) },
	"barrier":        func(_ context.Context, s *session.Session) any { return must(barrier.New(s, "/a")) },
	"barrier, up":    func(_ context.Context, s *session.Session) any { return must(barrier.New(s, "/data")) },
	"double":         func(_ context.Context, s *session.Session) any { return must(barrier.NewDouble(s, "/a", 2)) },
	"passage": func(ctx context.Context, s *session.Session) any {
		return must(must(barrier.NewDouble(s, "/a", 1)).Enter(ctx))
	},
	"queue":    func(_ context.Context, s *session.Session) any { return must(queue.New(s, "/a")) },
	"consumer": func(_ context.Context, s *session.Session) any { return must(must(queue.New(s, "/a")).Consume()) },
	"item": func(ctx context.Context, s *session.Session) any {
		q := must(queue.New(s, "/a"))
		_ = must(q.Put(ctx, nil))
		return must(q.Take(ctx))
	},
	"group": func(_ context.Context, s *session.Session) any { return must(group.New(s, "/a")) },
	"membership": func(_ context.Context, s *session.Session) any {
		return must(must(group.New(s, "/a")).Join(group.Member{Name: "me"}))
	},
	"cell": func(_ context.Context, s *session.Session) any { return must(config.New(s, "/a", config.Text())) },
	"cell, full": func(ctx context.Context, s *session.Session) any {
		return must(config.Open(ctx, s, "/data", config.Text()))
	},
	"names":       func(_ context.Context, s *session.Session) any { return must(naming.New(s, "/a")) },
	"coordinator": func(_ context.Context, s *session.Session) any { return must(twopc.NewCoordinator(s, "/a")) },
	"transaction": func(ctx context.Context, s *session.Session) any { return begun(ctx, s) },
	"site":        func(_ context.Context, s *session.Session) any { return must(twopc.NewSite(s, "/a", "a")) },
	"proposal": func(ctx context.Context, s *session.Session) any {
		site := must(twopc.NewSite(s, "/a", "a"))
		_ = begun(ctx, s)
		return <-site.Proposals()
	},
	"functions": func(ctx context.Context, s *session.Session) any {
		l := must(lock.New(s, "/a"))
		return functions{s, l, must(l.Lock(ctx))}
	},
}

func several(s *session.Session, path string) *lock.Multi {
	return must(lock.NewMulti(must(lock.New(s, "/a"+path)), must(lock.New(s, path))))
}

func begun(ctx context.Context, s *session.Session) *twopc.Tx {
	return must(must(twopc.NewCoordinator(s, "/a")).Begin(ctx, fmt.Sprint(s.Status().SessionID), nil, "a"))
}

// functions are those that have a session as an argument, and Break, which needs a contender.
type functions struct {
	s *session.Session
	l *lock.Lock
	g *lock.Grant
}

func (f functions) Afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return recipe.Afterwards(ctx, f.s)
}

func (f functions) Break(ctx context.Context) error {
	return f.l.Break(ctx, lock.Contender{Path: f.g.Path(), Token: f.g.Token()}, time.Hour)
}

func (f functions) Check(ctx context.Context) error {
	return fence.Check(ctx, f.s, f.g.Sequencer())
}

func (f functions) Follow(ctx context.Context) (context.Context, error) {
	return fence.Follow(ctx, f.s, f.g.Sequencer())
}

func (f functions) HoldsFrom(ctx context.Context) {
	for range recipe.HoldsFrom(ctx) {
		panic("the context is of no hold")
	}
}

func (f functions) Open(ctx context.Context) (*config.Cell[string], error) {
	return config.Open(ctx, f.s, "/nothing", config.Text())
}

func (f functions) Transact(ctx context.Context) {
	recipe.Transact(ctx, f.s, []session.Op{session.CheckOp("/data", -1)})
}

func (f functions) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return recipe.Within(ctx, f.g)
}

var contexts = reflect.TypeFor[context.Context]()

// methods are those of a type whose first argument is a context.
func methods(of reflect.Type) (all []string) {
	for m := range of.Methods() {
		if in := m.Type; in.NumIn() > 1 && in.In(1) == contexts {
			all = append(all, m.Name)
		}
	}
	return all
}

// call calls a method with a context, and with something for the other arguments: a function waits
// for the end of what it is given. What is to be called in the end is.
func call(ctx context.Context, thing any, method string) {
	f := reflect.ValueOf(thing).MethodByName(method)
	args := []reflect.Value{reflect.ValueOf(ctx)}
	for i := 1; i < f.Type().NumIn() && !(f.Type().IsVariadic() && i == f.Type().NumIn()-1); i++ {
		arg := reflect.New(f.Type().In(i)).Elem()
		switch arg.Kind() {
		case reflect.String:
			arg.SetString("/x")
		case reflect.Func:
			arg.Set(reflect.MakeFunc(arg.Type(), func(in []reflect.Value) (out []reflect.Value) {
				if of, is := reflect.TypeAssert[context.Context](in[0]); is {
					<-of.Done()
				}
				for of := range arg.Type().Outs() {
					out = append(out, reflect.Zero(of))
				}
				return out
			}))
		}
		args = append(args, arg)
	}
	for _, result := range f.Call(args) {
		if result.Kind() == reflect.Func && !result.IsNil() {
			result.Call(nil)
		}
	}
}

// used opens a session, calls the methods of a thing on it, each while others may go on, and closes
// it.
func used(ctx context.Context, w *bubble.World, name, method string) weak.Pointer[session.Session] {
	s := must(session.Open(ctx, w.Server.Hosts(), session.WithDialer(w.Server.Dialer()), session.WithSystem(w.System())))
	thing := things[name](ctx, s)
	go call(ctx, thing, method) // ends with the session
	synctest.Wait()
	time.Sleep(time.Second)
	require.NoError(w, s.Close(bubble.Minute(w)))
	time.Sleep(time.Minute) // whatever timer there is
	return weak.Make(s)
}

func TestAClosedSessionLeavesNothing(t *testing.T) {
	t.Parallel()
	for name := range things {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel() // the process's own
				other := w.Session()
				_ = must(must(lock.New(other, "/held")).Lock(ctx))
				_ = must(must(election.New(other, "/led")).Lead(ctx))
				_ = must(other.Create(ctx, "/data", nil))
				left := make(map[string]weak.Pointer[session.Session])
				first := must(session.New(w.Server.Hosts(), session.WithDialer(w.Server.Dialer()), session.WithSystem(w.System())))
				all := methods(reflect.TypeOf(things[name](ctx, first)))
				require.NotEmpty(w, all)
				require.NoError(w, first.Close(ctx))
				for _, method := range all {
					left[method] = used(ctx, w, name, method)
				}
				for range 4 { // what is in a pool goes with the second
					runtime.GC()
				}
				var stay []string
				for method, of := range left {
					if of.Value() != nil {
						stay = append(stay, method)
					}
				}
				require.Empty(w, stay)
			})
		})
	}
}
