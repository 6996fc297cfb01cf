package misuse_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
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

// given is the configuration of an application.
var given = fx.Supply(fxmodule.Default("localhost:2181"))

// started is the error of an application with these options, at the latest when it starts.
func (w *world) started(opts ...fx.Option) func() error {
	return func() error {
		app := fx.New(append([]fx.Option{fx.NopLogger, fxmodule.Module, fxtest.Server(w.Server), given}, opts...)...)
		err := app.Start(w.Context())
		return errors.Join(err, app.Stop(w.Context()))
	}
}

// instance is what package fxmodule provides under a name.
type instance struct {
	kind string
	at   func(name, path string) fx.Option
	need fx.Option // has the graph make the one named "x"
}

func provided[T any](kind string, at func(name, path string) fx.Option) instance {
	return instance{kind, at, fx.Invoke(fx.Annotate(func(T) {}, fx.ParamTags(`name:"x"`)))}
}

var instances = []instance{
	provided[*lock.Lock]("Lock", func(n, p string) fx.Option { return fxmodule.Lock(n, p) }),
	provided[*lock.Lock]("ReadLock", func(n, p string) fx.Option { return fxmodule.ReadLock(n, p) }),
	provided[*lock.Lock]("WriteLock", func(n, p string) fx.Option { return fxmodule.WriteLock(n, p) }),
	provided[*lock.Lock]("Semaphore", func(n, p string) fx.Option { return fxmodule.Semaphore(n, p, 3) }),
	provided[*election.Election]("Election", func(n, p string) fx.Option { return fxmodule.Election(n, p) }),
	provided[*queue.Queue]("Queue", func(n, p string) fx.Option { return fxmodule.Queue(n, p) }),
	provided[*barrier.Barrier]("Barrier", func(n, p string) fx.Option { return fxmodule.Barrier(n, p) }),
	provided[*barrier.Double]("DoubleBarrier", func(n, p string) fx.Option { return fxmodule.DoubleBarrier(n, p, 2) }),
	provided[*twopc.Coordinator]("Coordinator", func(n, p string) fx.Option { return fxmodule.Coordinator(n, p) }),
	provided[*twopc.Site]("Site", func(n, p string) fx.Option { return fxmodule.Site(n, p) }),
	provided[*group.Group]("Group", fxmodule.Group),
	provided[*naming.Names]("Names", fxmodule.Names),
	provided[*config.Cell[int]]("Cell", func(n, p string) fx.Option { return fxmodule.Cell(n, p, config.JSON[int]()) }),
}

func lead(context.Context, *election.Term) error         { return nil }
func work(context.Context, *queue.Item) error            { return nil }
func vote(context.Context, *twopc.Proposal) error        { return nil }
func follow(context.Context, config.Snapshot[int]) error { return nil }
func callers(name string, fns [4]any, n int) map[string]fx.Option {
	return map[string]fx.Option{
		"RunLeader": fxmodule.RunLeader(name, fns[0]), "Consume": fxmodule.Consume(name, n, fns[1]),
		"RunSite": fxmodule.RunSite(name, fns[2]), "Follow": fxmodule.Follow[int](name, fns[3]),
	}
}

// modules are misuses of package fxmodule.
func modules(w *world) (rows []row) {
	add := func(function, what, says string, opts ...fx.Option) {
		title := "fxmodule." + function
		rows = append(rows, row{title + ": " + what, w.started(opts...), nil, says})
	}
	fns := [4]any{lead, work, vote, follow}
	for _, bad := range []string{"", `a"b`, "a`b", `a\b`} {
		named := callers(bad, fns, 1)
		named["Join"], named["Session"], named["On"] = fxmodule.Join(bad, group.Member{ID: "a"}), fxmodule.Session(bad), fxmodule.On(bad)
		for _, i := range instances {
			named[i.kind] = i.at(bad, "/a")
		}
		for kind, option := range named {
			add(kind, fmt.Sprintf("name %q", bad), fmt.Sprintf("fxmodule.%s(%q): the name", kind, bad), option)
		}
	}
	for _, i := range instances {
		title := fmt.Sprintf("fxmodule.%s(\"x\"): ", i.kind)
		for _, bad := range []string{"", "a", "/", "/zookeeper"} {
			add(i.kind, fmt.Sprintf("path %q", bad), title+"…"+session.ErrInvalidPath.Error(), i.at("x", bad), i.need)
		}
	}
	for kind, option := range callers("x", [4]any{}, 1) {
		add(kind, "no function", fmt.Sprintf("fxmodule.%s(\"x\"): fn is nil", kind), option)
	}
	for kind, option := range callers("x", fns, 1) {
		add(kind, "no instance", fmt.Sprintf("fxmodule.%s(\"x\"): the graph lacks *…named \"x\"", kind), option)
		rows = append(rows, row{"fxmodule." + kind + ": no Module", func() error {
			return fx.New(fx.NopLogger, option).Err()
		}, nil, fmt.Sprintf("fxmodule.%s(\"x\"): the graph lacks fxmodule.Module", kind)})
	}
	for _, n := range []int{0, -1, 10_001} {
		add("Consume", fmt.Sprint(n), fmt.Sprintf(`fxmodule.Consume("x"): n: %d is not between`, n), fxmodule.Consume("x", n, work))
	}
	lockX := provided[*lock.Lock]("", nil).need
	add("Lock", "a nil option", `fxmodule.Lock("x"): …opts[0]: nil`, fxmodule.Lock("x", "/a", nil), lockX)
	add("Semaphore", "no permits", `fxmodule.Semaphore("x"): …permits: 0`, fxmodule.Semaphore("x", "/a", 0), lockX)
	add("DoubleBarrier", "no parties", `fxmodule.DoubleBarrier("x"): …parties: 0`, fxmodule.DoubleBarrier("x", "/a", 0), provided[*barrier.Double]("", nil).need)
	add("Cell", "no codec", `fxmodule.Cell("x"): …codec: nil`, fxmodule.Cell[int]("x", "/a", nil), provided[*config.Cell[int]]("", nil).need)
	add("Options", "a nil option", "fxmodule.Options: …opts[0]: nil", fxmodule.Options(nil))
	add("Options", "a wrong one", "fxmodule.Options: …WithTick: ", fxmodule.Options(session.WithTick(-1)))
	add("Options", "twice", "Options", fxmodule.Options(), fxmodule.Options())
	add("Session", "a nil option", `fxmodule.Session("x"): …opts[0]: nil`, fxmodule.Session("x", nil),
		fx.Supply(fx.Annotate(fxmodule.Default("localhost:2181"), fx.ResultTags(`name:"x"`))))
	add("Session", "no Config", `name="x"`, fxmodule.Session("x"))
	add("On", "no Session", `fxmodule.On("x"): the graph has no fxmodule.Session`, fxmodule.On("x"))
	add("On", "a nil option", `fxmodule.On("x"): opts[0]: nil`, fxmodule.On("x", nil))
	add("Consume", "a nil option", `fxmodule.Consume("x"): opts[0]: nil`, fxmodule.Queue("x", "/a"), fxmodule.Consume("x", 1, work, nil))
	add("Join", "no id", `fxmodule.Join("x"): …id: empty`, fxmodule.Group("x", "/a"), fxmodule.Join("x", group.Member{}))
	add("Module", "two configurations", "Config", given)
	rows = append(rows,
		row{"fxmodule.Module: no Config", func() error { return fx.New(fx.NopLogger, fxmodule.Module).Err() }, nil, "fxmodule.Config"},
		row{"fxmodule.Default: no servers", func() error { return fxmodule.Default().Validate() }, nil, "Config.Servers: none"},
		row{"fxmodule.Module: a wrong Config", func() error {
			return fx.New(fx.NopLogger, fxmodule.Module, fx.Supply(fxmodule.Config{Timeout: fxmodule.Duration(-time.Second)})).Err()
		}, nil, "Config.Servers: …Config.Timeout: "})
	return rows
}
