package fxmodule

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// Lock provides a *lock.Lock under a name, exclusive, on the module's session. As everywhere in fx,
// it is created only when something depends on it. When the application stops, it is closed and its
// grants are released.
//
//	type Params struct {
//		fx.In
//		Orders *lock.Lock `name:"orders"`
//	}
func Lock(name, path string, opts ...lock.Option) fx.Option {
	return named("Lock", name, path, func(s *session.Session) (*lock.Lock, error) { return lock.New(s, path, opts...) })
}

// ReadLock provides the read side of a shared lock under a name: see lock.NewRead.
func ReadLock(name, path string, opts ...lock.Option) fx.Option {
	return named("ReadLock", name, path, func(s *session.Session) (*lock.Lock, error) { return lock.NewRead(s, path, opts...) })
}

// WriteLock provides the write side of a shared lock under a name: see lock.NewWrite.
func WriteLock(name, path string, opts ...lock.Option) fx.Option {
	return named("WriteLock", name, path, func(s *session.Session) (*lock.Lock, error) { return lock.NewWrite(s, path, opts...) })
}

// Semaphore provides a semaphore with a limit under a name: see lock.NewSemaphore.
func Semaphore(name, path string, limit int, opts ...lock.Option) fx.Option {
	return named("Semaphore", name, path, func(s *session.Session) (*lock.Lock, error) { return lock.NewSemaphore(s, path, limit, opts...) })
}

// Election provides a *election.Election under a name. It does not campaign by itself: call
// Campaign or Lead, or use [RunLeader].
func Election(name, path string, opts ...election.Option) fx.Option {
	return named("Election", name, path, func(s *session.Session) (*election.Election, error) { return election.New(s, path, opts...) })
}

// Queue provides a *queue.Queue under a name. To process its items while the application runs, use
// [Consume].
func Queue(name, path string, opts ...queue.Option) fx.Option {
	return named("Queue", name, path, func(s *session.Session) (*queue.Queue, error) { return queue.New(s, path, opts...) })
}

// Barrier provides a *barrier.Barrier under a name.
func Barrier(name, path string, opts ...barrier.Option) fx.Option {
	return named("Barrier", name, path, func(s *session.Session) (*barrier.Barrier, error) { return barrier.New(s, path, opts...) })
}

// DoubleBarrier provides a *barrier.Double under a name, for rounds with a number of parties. It is
// closed when the application stops.
func DoubleBarrier(name, path string, parties int, opts ...barrier.Option) fx.Option {
	return named("DoubleBarrier", name, path, func(s *session.Session) (*barrier.Double, error) { return barrier.NewDouble(s, path, parties, opts...) })
}

// Coordinator provides a *twopc.Coordinator under a name. It is closed when the application stops:
// transactions that are not decided by then are aborted. Outcomes that were not acknowledged are
// kept; call twopc.Coordinator.Recover after the next start.
func Coordinator(name, path string, opts ...twopc.Option) fx.Option {
	return named("Coordinator", name, path, func(s *session.Session) (*twopc.Coordinator, error) { return twopc.NewCoordinator(s, path, opts...) })
}

// Site provides a *twopc.Site under a name, which is also its name in transactions. It is closed
// when the application stops.
func Site(name, path string, opts ...twopc.Option) fx.Option {
	return named("Site", name, path, func(s *session.Session) (*twopc.Site, error) { return twopc.NewSite(s, path, name, opts...) })
}

// Group provides a *group.Group under a name. It does not join by itself: call group.Group.Join, or
// use [Join]. When the application stops, it is closed, and its memberships are left.
func Group(name, path string, opts ...group.Option) fx.Option {
	return named("Group", name, path, func(s *session.Session) (*group.Group, error) { return group.New(s, path, opts...) })
}

// Cell provides a *config.Cell[T] under a name: a configuration value that follows its znode. Until
// the first read the value is stale and not present: see config.New.
func Cell[T any](name, path string, codec config.Codec[T], opts ...config.Option) fx.Option {
	return named("Cell", name, path, func(s *session.Session) (*config.Cell[T], error) { return config.New(s, path, codec, opts...) })
}

// Names provides a *naming.Names under a name, for the names below root.
func Names(name, root string, opts ...naming.Option) fx.Option {
	return named("Names", name, root, func(s *session.Session) (*naming.Names, error) { return naming.New(s, root, opts...) })
}

// named provides an instance under a name. If it has a Close, the stop of the application calls it.
func named[T comparable](kind, name, path string, build func(*session.Session) (T, error)) fx.Option {
	title, err := titled(kind, name)
	if err != nil {
		return fx.Error(err)
	}
	provide := func(s *session.Session, b *budget, n *names, lc fx.Lifecycle) (T, error) {
		n.add(place{s, s.Path(path)}, name) // before a reader of metrics sees it
		v, err := build(s)
		if err != nil {
			return v, fmt.Errorf("%s: %w", title, err)
		}
		if c, ok := any(v).(session.Closer); ok {
			b.closing(lc, s, title, v, c.Close) // Close of an election waits for the functions of its terms
		}
		return v, nil
	}
	return fx.Provide(fx.Annotated{Name: name, Target: provide})
}

// names are the names of instances, for telemetry.
type names struct {
	mu  sync.Mutex
	all map[place]string
}

// place is an absolute path in a session.
type place struct {
	session *session.Session
	path    string
}

func (n *names) add(p place, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[p] = name
}

// of is the name of the instance at a path; "" if there is none.
func (n *names) of(s *session.Session, path string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[place{s, path}]
}

// titled returns the title of an option's errors. It refuses names that would be others in a tag.
func titled(kind, name string) (string, error) {
	title := fmt.Sprintf("fxmodule.%s(%q)", kind, name)
	if name == "" || strings.ContainsAny(name, `"\`) || !strconv.CanBackquote(name) {
		return "", fmt.Errorf("%s: the name is empty, or contains a quote, a backslash, or what can't be printed", title)
	}
	return title, nil
}

// noNil refuses a nil option, with its index among the user's options: fx would panic, with an
// index that counts Troupe's options too.
func noNil[O any](title string, opts []O) error {
	for i, opt := range opts {
		if v := reflect.ValueOf(opt); !v.IsValid() || v.Kind() == reflect.Func && v.IsNil() {
			return fmt.Errorf("%s: opts[%d]: nil", title, i)
		}
	}
	return nil
}

// tag returns the struct tag with which fx finds what has a name; "" for the unnamed.
func tag(name string) string {
	if name == "" {
		return ""
	}
	return `name:"` + name + `"`
}
