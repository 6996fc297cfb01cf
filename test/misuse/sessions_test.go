package misuse_test

// Misuses of packages session, actors, recipe and fxmodule. Helpers: misuse_test.go.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/fxmodule"
	_ "github.com/troupe-go/troupe/fxmodule/embedded" // a Config may ask for it
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipe"
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

// cancelled is a context that has ended.
var cancelled, cancel = context.WithCancel(context.Background())

func init() { cancel() }

// sessions are misuses of how a session is made.
func sessions(w *world) (rows []row) {
	closed := must(actors.New())
	require.NoError(w, closed.Close(w.Context()))
	add := func(what string, is error, says string, opts ...any) {
		try := call(session.New, append([]any{[]string{"a:2181"}}, opts...)...)
		rows = append(rows, row{"session." + what, try, is, says})
	}
	add("New: a nil option", nil, "opts[0]: nil", nil)
	add("WithTimeout: a bare number", nil, "WithTimeout: 10ns is not possible: did you mean 10*time.Second?", session.WithTimeout(10))
	add("WithTick: too long", nil, "WithTick: ", session.WithTimeout(3*time.Second), session.WithTick(2*time.Second))
	add("WithTrustMargin: the timeout", nil, "WithTrustMargin: ", session.WithTimeout(time.Second), session.WithTrustMargin(time.Second))
	add("WithAuth: no scheme", nil, "WithAuth: scheme: empty", session.WithAuth("", []byte("hunter2")))
	add("WithIdentity: and without", nil, "WithoutIdentity: can't be combined", session.WithIdentity("a"), session.WithoutIdentity())
	add("WithSystem: closed", actors.ErrStopped, "WithSystem: ", session.WithSystem(closed))
	for i, acl := range notACLs {
		add(fmt.Sprintf("WithACL: ACL %d", i), session.ErrInvalidACL, "WithACL: ", session.WithACL(acl...))
	}
	open, link, taken := filepath.Join(w.TempDir(), "open"), filepath.Join(w.TempDir(), "link"), filepath.Join(w.TempDir(), "taken")
	require.NoError(w, os.WriteFile(open, nil, 0o600))
	require.NoError(w, os.Chmod(open, 0o604))
	require.NoError(w, os.Symlink(open, link))
	w.Unconnected(session.WithSessionFile(taken))
	for name, says := range map[string]string{
		"": "file: empty", open: "others may read", link: "symbolic link", w.TempDir(): "directory", taken: "another session of this process",
		filepath.Join(open, "x"): "not a directory", "/dev/null": "no regular file",
	} {
		add("WithSessionFile: "+name, nil, "WithSessionFile: …"+says, session.WithSessionFile(name))
	}
	for servers, says := range map[string]string{
		"": "none", "a:1; ": "[1]", "a b:1": "[0]", "a:zookeeper": "[0]", "a:0": "[0]", "a:65536": "[0]", ":2181": "[0]", "a:1:2": "[0]", "[::1": "[0]",
		"a:1/b//c": "[0]: chroot", "a:1/b;c:1/d": "[1]: chroot", "zk://a:1": "without a scheme: host:port", "https://a": "without a scheme: host:port",
	} {
		list := strings.FieldsFunc(servers, func(r rune) bool { return r == ';' })
		rows = append(rows, row{"session.New: servers " + servers, call(session.New, list), nil, "servers…" + says},
			row{"session.Open: servers " + servers, call(session.Open, w.Context(), list), nil, "servers…" + says})
	}
	with := of(session.New, []string{"a:2181"})
	return slices.Concat(rows,
		each("session.WithTimeout", session.WithTimeout, with, nil, 0, -1, -time.Second, forever, (math.MaxInt32+1)*time.Millisecond),
		each("session.WithTick", session.WithTick, with, nil, 0, -1, -forever, forever),
		each("session.WithTrustMargin", session.WithTrustMargin, with, nil, 0, -1, -forever, forever),
		each("session.WithMaxPacket", session.WithMaxPacket, with, nil, 0, -1, 1023, math.MaxInt32+1, math.MaxInt),
		each("session.WithNamespace", session.WithNamespace, with, session.ErrInvalidPath, notPaths...),
		each("session.WithTLS", session.WithTLS, with, nil, nil),
		each("session.WithDialer", session.WithDialer, with, nil, nil),
		each("session.WithIdentity", session.WithIdentity, with, nil, "", "a\n", "\x1b[2J", "\u202e", "\xff", strings.Repeat("n", 240)),
		each("session.WithLogger", session.WithLogger, with, nil, nil),
		each("session.WithEvents", session.WithEvents, with, nil, nil),
		each("session.WithSystem", session.WithSystem, with, nil, nil))
}

// operations are misuses of what a session does, and of what recipes are made from.
func operations(w *world) []row {
	ctx, sys := w.Context(), w.System().Scope()
	within, end := recipe.Within(ctx, nil)
	end()
	system := of(actors.New)
	create, multi := of(w.s.Create, ctx, "/a", nil), of(w.s.Multi, ctx)
	tree := func(s *session.Session, path string, opts ...session.TreeOption) func() error {
		return func() error { return (<-s.WatchTree(ctx, path, opts...)).Err }
	}
	rows := []row{
		{"session.Create: no parent", call(w.s.Create, ctx, "/no/such/parent", nil), session.ErrNoNode, "that is its parent, which Parents() makes"},
		{"session.Create: too large", call(w.s.Create, ctx, "/a", large), session.ErrTooLarge, "create /a: "},
		{"session.Container: ephemeral", create(session.Container(), session.Ephemeral()), nil, "Container"},
		{"session.Container: sequential", create(session.Container(), session.Sequential()), nil, "Container"},
		{"session.Container: with a TTL", create(session.Container(), session.TTL(time.Second)), nil, "Container"},
		{"session.TTL: ephemeral", create(session.TTL(time.Second), session.Ephemeral()), nil, "TTL"},
		{"session.Multi: no operations", multi(), nil, "ops: "},
		{"session.Multi: the zero operation", multi(session.Op{}), nil, "ops[0]: "},
		{"session.WithDepth: 0", tree(w.s, "/a", session.WithDepth(0)), nil, "watch tree /a: WithDepth: 0"},
		{"session.WithMaxNodes: 0", tree(w.s, "/a", session.WithMaxNodes(0)), nil, "watch tree /a: WithMaxNodes: 0"},
		{"session.WatchTree: no path", tree(w.s, "a"), session.ErrInvalidPath, "watch tree a: "},
		{"session.WatchTree: a closed session", tree(w.closed, "/a"), session.ErrClosed, "watch tree /a: "},
		{"session.Connect: a closed session", call(w.closed.Connect, ctx), session.ErrClosed, "connect: "},
		{"recipe.New: no session", call(recipe.New, recipe.Config{}), nil, "Session: nil"},
		{"recipe.New: no machine", call(recipe.New, recipe.Config{Session: w.s}), nil, "Machine: nil"},
		{"recipe.NewClaims: no session", call(recipe.NewClaims[int], recipe.ClaimsConfig{}, func(*recipe.Possession) int { return 0 }), nil, "Session: nil"},
		{"recipe.NewClaims: no machine", call(recipe.NewClaims[int], recipe.ClaimsConfig{Session: w.s}, func(*recipe.Possession) int { return 0 }), nil, "Machine: nil"},
		{"actors.New: a nil option", call(actors.New, nil), nil, "actors.New: opts[0]: nil"},
		{"actors.Spawn: no constructor", call(actors.Spawn[int], sys, actors.Spec[int]{Name: "nobody"}), nil, "Spec.New is nil"},
		{"recipe.Under: nil", multi(recipe.Under(session.CheckOp("/", -1), nil)), session.ErrLost, "recipe.Under: p: …no possession"},
		{"recipe.Within: nil", func() error { return context.Cause(within) }, nil, "recipe.Within: p: no possession"},
		{"actors.Spawn: the zero scope", call(actors.Spawn[int], nil, actors.Spec[int]{New: func(actors.Self[int]) actors.Receiver[int] { return nil }}), actors.ErrStopped, ""},
		{"actors.Scope.Group: the zero scope", call(actors.Scope{}.Group, "a", "group"), actors.ErrStopped, ""},
	}
	rows = slices.Concat(rows, each("actors.WithLogger", actors.WithLogger, system, nil, nil),
		each("actors.WithRestarts", actors.WithRestarts, system, nil, actors.Restarts{Min: -1}, actors.Restarts{Max: -1}, actors.Restarts{Limit: -1},
			actors.Restarts{Within: -1}, actors.Restarts{Min: 2, Max: 1}, actors.Restarts{Max: time.Millisecond}))
	for what, opt := range map[string]session.CreateOption{
		"opts[0]: nil": nil, "TTL: 0s": session.TTL(0), "TTL: -1ns": session.TTL(-1), "TTL: 2562047h": session.TTL(forever), "WithNodeACL: ": session.WithNodeACL(),
	} {
		rows = append(rows, row{"session.Create: " + what, create(opt), nil, what},
			row{"session.CreateOp: " + what, multi(session.CreateOp("/a", nil, opt)), nil, "ops[0]: " + what})
	}
	for what, opt := range map[string]session.CreateOption{
		"Container": session.Container(), "TTL": session.TTL(time.Second), "Parents": session.Parents(), "Protected": session.Protected(),
	} {
		rows = append(rows, row{"session.CreateOp: " + what, multi(session.CheckOp("/", -1), session.CreateOp("/a", nil, opt)), session.ErrUnsupported, "ops[1]: "})
	}
	for i, acl := range notACLs {
		rows = append(rows, row{fmt.Sprintf("session.WithNodeACL: ACL %d", i), create(session.WithNodeACL(acl...)), session.ErrInvalidACL, "WithNodeACL: "},
			row{fmt.Sprintf("session.SetACL: ACL %d", i), call(w.s.SetACL, ctx, "/a", acl, -1), session.ErrInvalidACL, "set acl /a: "})
	}
	return rows
}

// given is the configuration of an application.
var given = fx.Supply(fxmodule.Default("localhost:2181"))

// refusing is a dialer that reaches nothing.
var refusing = session.WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") })

// printer is what a function may need besides.
type printer struct{ _ int }

type tray struct {
	fx.In
	Paper string `name:"paper"`
}

// app is an application with these options, on the test's server.
func (w *world) app(opts ...fx.Option) *fx.App {
	return fx.New(append([]fx.Option{fx.NopLogger, fxmodule.Module, fxtest.Server(w.Server), given}, opts...)...)
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
	provided[*group.Group]("Group", func(n, p string) fx.Option { return fxmodule.Group(n, p) }),
	provided[*naming.Names]("Names", func(n, p string) fx.Option { return fxmodule.Names(n, p) }),
	provided[*config.Cell[int]]("Cell", func(n, p string) fx.Option { return fxmodule.Cell(n, p, config.JSON[int]()) }),
}

func lead(context.Context, *election.Term) error { return nil }
func work(context.Context, *queue.Item) error    { return nil }
func seen(context.Context, *session.Tree) error  { return nil }

// callers are the options that call functions of the application's: fns are those of RunLeader,
// Consume, RunSite, Follow and FollowTree.
func callers(name string, fns [5]any) map[string]fx.Option {
	return map[string]fx.Option{
		"RunLeader": fxmodule.RunLeader(name, fns[0]), "Consume": fxmodule.Consume(name, 1, fns[1]),
		"RunSite": fxmodule.RunSite(name, fns[2]), "Follow": fxmodule.Follow[int](name, fns[3]), "FollowTree": fxmodule.FollowTree(name, "/a", fns[4]),
	}
}

// configs are what is wrong with a Config, by the fields, in their order. A comma at the end tells
// two Configs with the same wrong fields apart.
var configs = map[string]fxmodule.Config{
	"Servers, Namespace, EmbeddedListen, EmbeddedListen, Timeout, Tick, Startup, MaxPacket, AuthSecret, TLS.Enabled, TLS.KeyFile": {
		Namespace: "relative", Timeout: -1, Tick: -1, Startup: "later", MaxPacket: -1, AuthScheme: "digest", TLS: fxmodule.TLS{CertFile: "x"}, EmbeddedListen: "nonsense",
	},
	"Embedded": {Servers: []string{"a:1"}, Embedded: true}, "Servers": {Servers: []string{"no port:x:y"}}, "AuthScheme": {Embedded: true, AuthSecret: "bob:hunter2"},
	"Private": {Embedded: true, Private: true}, "Embedded,": {Embedded: true, TLS: fxmodule.TLS{Enabled: true}}, "EmbeddedListen": {Embedded: true, EmbeddedListen: "localhost:http"},
	"TLS.CAFile, TLS.CertFile": {Servers: []string{"a:1"}, TLS: fxmodule.TLS{Enabled: true, CAFile: "/no/x.pem", CertFile: "/no/x.pem", KeyFile: "/no/x.pem"}},
	"TLS.CertFile":             {Servers: []string{"a:1"}, TLS: fxmodule.TLS{Enabled: true, KeyFile: "/no/x.pem"}},
	"Tick":                     {Embedded: true, Timeout: fxmodule.Duration(time.Second), Tick: fxmodule.Duration(time.Second)}, "Timeout": {Embedded: true, Timeout: 1},
}

// modules are misuses of package fxmodule.
func modules(w *world) (rows []row) {
	add := func(function, what, says string, opts ...fx.Option) {
		title := "fxmodule." + function
		rows = append(rows, row{title + ": " + what, func() error {
			app := w.app(opts...)
			return errors.Join(app.Start(bubble.Minute(w)), app.Stop(bubble.Minute(w)))
		}, nil, says})
	}
	fns := [5]any{lead, work, func(context.Context, *twopc.Proposal) error { return nil }, func(context.Context, config.Snapshot[int]) error { return nil }, seen}
	for _, bad := range []string{"", `a"b`, "a`b", `a\b`, "a\nb", "a\xffb"} {
		named := callers(bad, fns)
		named["Join"], named["NamedSession"], named["On"] = fxmodule.Join(bad, group.Member{Name: "a"}), fxmodule.NamedSession(bad), fxmodule.On(bad)
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
	for kind, option := range callers("x", [5]any{}) {
		add(kind, "no function", fmt.Sprintf("fxmodule.%s(\"x\"): fn is nil", kind), option)
	}
	for kind, option := range callers("x", fns) {
		if kind != "FollowTree" { // which has none
			add(kind, "no instance", fmt.Sprintf("fxmodule.%s(\"x\"): the graph lacks *…named \"x\"", kind), option)
		}
		without := func() error { return fx.New(fx.NopLogger, option).Err() }
		rows = append(rows, row{"fxmodule." + kind + ": no Module", without, nil, fmt.Sprintf("fxmodule.%s(\"x\"): the graph lacks fxmodule.Module", kind)})
	}
	for fields, cfg := range configs {
		fields = strings.TrimSuffix(fields, ",")
		require.Equal(w, strings.Count(fields, ","), strings.Count(cfg.Validate().Error(), "\n"), fields)
		rows = append(rows, row{"fxmodule.Config: " + fields, cfg.Validate, nil, "^fxmodule: Config." + strings.ReplaceAll(fields, ", ", ": …\nfxmodule: Config.") + ": "})
	}
	for _, n := range []int{0, -1, 10_001} {
		add("Consume", fmt.Sprint(n), fmt.Sprintf(`fxmodule.Consume("x"): n: %d is not between`, n), fxmodule.Consume("x", n, work))
	}
	for says, option := range map[string]fx.Option{
		session.ErrInvalidPath.Error() + ": path: not absolute": fxmodule.FollowTree("x", "a", seen), "opts[0]: nil": fxmodule.FollowTree("x", "/", seen, nil),
		"WithDepth: 0": fxmodule.FollowTree("x", "/", seen, session.WithDepth(0)),
	} { // before there is a graph
		rows = append(rows, row{"fxmodule.FollowTree: " + says, func() error { return fx.New(fx.NopLogger, option).Err() }, nil, `^fxmodule.FollowTree("x"): ` + says})
	}
	add("FollowTree", "twice", `followedTree[name="x"]`, fxmodule.FollowTree("x", "/a", seen), fxmodule.FollowTree("x", "/b", seen))
	for i, fn := range []any{
		(func(context.Context, *election.Term) error)(nil), 7, func() error { return nil }, func(context.Context) error { return nil }, work,
		func(*election.Term, *world) error { return nil }, func(context.Context, *election.Term) {},
		func(context.Context, *election.Term) (int, error) { return 0, nil }, func(context.Context, *election.Term, ...*world) error { return nil },
		func(context.Context, *election.Term, error) error { return nil }, func(context.Context, *election.Term, *struct{ fx.In }) error { return nil },
		func(context.Context, *election.Term, struct{ fx.Out }) error { return nil },
	} { // before there is a graph, whose error would begin otherwise
		rows = append(rows, row{fmt.Sprintf("fxmodule.RunLeader: function %d", i), func() error { return fx.New(fx.NopLogger, fxmodule.RunLeader("x", fn)).Err() }, nil, `^fxmodule.RunLeader("x"): `})
	}
	once := fx.Options(fx.NopLogger, fxmodule.Module, given, fxmodule.Election("x", "/x"), fxmodule.RunLeader("x", lead), fxmodule.Election("y", "/y"), fxmodule.RunLeader("y", lead))
	require.NoError(w, fx.ValidateApp(once))
	twice := fx.Module("elsewhere", fxmodule.RunLeader("x", lead))
	add("RunLeader", "twice", `onlyRunLeader[name="x"]`, fxmodule.RunLeader("x", lead), twice)
	lockX := provided[*lock.Lock]("", nil).need
	add("Lock", "a nil option", `fxmodule.Lock("x"): …opts[0]: nil`, fxmodule.Lock("x", "/a", nil), lockX)
	add("Semaphore", "no permits", `fxmodule.Semaphore("x"): …limit: 0`, fxmodule.Semaphore("x", "/a", 0), lockX)
	add("DoubleBarrier", "no parties", `fxmodule.DoubleBarrier("x"): …parties: 0`, fxmodule.DoubleBarrier("x", "/a", 0), provided[*barrier.Double]("", nil).need)
	add("Cell", "no codec", `fxmodule.Cell("x"): …codec: nil`, fxmodule.Cell[int]("x", "/a", nil), provided[*config.Cell[int]]("", nil).need)
	add("Options", "a nil option", "fxmodule.Options: …opts[0]: nil", fxmodule.Options(nil))
	add("Options", "a wrong one", "fxmodule.Options: …WithTick: ", fxmodule.Options(session.WithTick(-1)))
	add("Options", "twice", "Options", fxmodule.Options(), fxmodule.Options())
	cfg := func(c fxmodule.Config) fx.Option { return fx.Supply(fx.Annotate(c, fx.ResultTags(`name:"x"`))) }
	add("NamedSession", "a wrong Config", `fxmodule.NamedSession("x"): fxmodule: Config.Servers`, fxmodule.NamedSession("x"), cfg(fxmodule.Config{Timeout: 1}))
	add("NamedSession", "a wrong option", `fxmodule.NamedSession("x"): session.New: WithTimeout`, fxmodule.NamedSession("x", session.WithTimeout(-1)), cfg(fxmodule.Default("x")))
	add("NamedSession", "no server", `fxmodule.NamedSession("x"): no session with ZooKeeper at x`, fxmodule.NamedSession("x", refusing), cfg(fxmodule.Default("x")))
	on := fxmodule.On("x", fxmodule.Election("x", "/x"), fxmodule.RunLeader("x", lead))
	add("On", "no NamedSession", `^fxmodule.On("x"): the graph has no fxmodule.NamedSession of that name`, on)
	require.NoError(w, fx.ValidateApp(fx.NopLogger, fxmodule.Module, given, fxmodule.NamedSession("x"), cfg(fxmodule.Default("x")), on))
	// What the graph does not provide, or can't, is named with the option and with the function.
	paper, ink, leader := fx.Supply(fx.Annotate("A4", fx.ResultTags(`name:"paper"`))), fx.Supply(new(printer)), fxmodule.Election("x", "/x")
	needs := fxmodule.RunLeader("x", func(context.Context, *election.Term, *session.Session, *printer, tray) error {
		return nil
	})
	const lacks = `^fxmodule.RunLeader("x"): the graph lacks `
	for says, opts := range map[string]fx.Option{
		lacks + "*misuse_test.printer, or what that needs":                                                     fx.Options(leader, paper),
		lacks + `*election.Election named "x", or what that needs`:                                             fx.Options(paper, ink),
		lacks + `string named "paper", or what that needs`:                                                     fx.Options(leader, ink),
		lacks + `*election.Election named "x", *misuse_test.printer, string named "paper", or what that needs`: fx.Options(),
		"out of ink": fx.Options(leader, paper, fx.Provide(func() (*printer, error) { return nil, errors.New("out of ink") })),
	} {
		graph := fx.Options(fx.NopLogger, fxmodule.Module, given, opts, needs)
		rows = append(rows, row{"fxmodule.RunLeader: what is not provided", func() error {
			err, valid := fx.New(graph).Err(), fx.ValidateApp(graph)
			require.Equal(w, says == "out of ink", valid == nil, "constructors are not called")
			require.NotContains(w, fmt.Sprint(err, valid), "makeFuncStub")
			return err
		}, nil, says})
	}
	require.NoError(w, fx.ValidateApp(fx.NopLogger, fxmodule.Module, given, leader, paper, ink, needs))
	add("NamedSession", "a nil option", `fxmodule.NamedSession("x"): …opts[0]: nil`, fxmodule.NamedSession("x", nil),
		fx.Supply(fx.Annotate(fxmodule.Default("localhost:2181"), fx.ResultTags(`name:"x"`))))
	add("NamedSession", "no Config", `name="x"`, fxmodule.NamedSession("x"))
	add("On", "a nil option", `fxmodule.On("x"): opts[0]: nil`, fxmodule.On("x", nil))
	add("Consume", "a nil option", `fxmodule.Consume("x"): opts[0]: nil`, fxmodule.Queue("x", "/a"), fxmodule.Consume("x", 1, work, nil))
	add("Join", "no name", `fxmodule.Join("x"): …name: empty`, fxmodule.Group("x", "/a"), fxmodule.Join("x", group.Member{}))
	add("Module", "two configurations", "Config", given)
	rows = append(rows,
		row{"fxmodule.RunLeader: twice", call(fx.ValidateApp, once, twice), nil, `onlyRunLeader[name="x"]`},
		row{"fxmodule.Module: no Config", func() error { return fx.New(fx.NopLogger, fxmodule.Module).Err() }, nil, "fxmodule.Config"},
		row{"fxmodule.Default: no servers", func() error { return fxmodule.Default().Validate() }, nil, "Config.Servers: none"},
		row{"fxmodule.Module: a wrong Config", func() error {
			return fx.New(fx.NopLogger, fxmodule.Module, fx.Supply(fxmodule.Config{Timeout: fxmodule.Duration(-time.Second)})).Err()
		}, nil, "Config.Servers: …Config.Timeout: "})
	return rows
}

// behaviours are misuses that no constructor can see: the log tells of them.
func behaviours(w *world) []row {
	// A leader or a job that fails in an application without a logger.
	failing := func(opts ...fx.Option) func() error {
		return func() error {
			var log strings.Builder
			before := slog.Default()
			defer slog.SetDefault(before)
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
			app := w.app(opts...)
			require.NoError(w, app.Start(w.Context()))
			time.Sleep(10 * time.Second)
			require.NoError(w, app.Stop(w.Context()))
			return errors.New(log.String())
		}
	}
	// What the log has after a while.
	logged := func(run func(s *session.Session) error) func() error {
		return func() error {
			var log bubble.Log
			ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
			defer cancel()
			err := run(w.Session(log.Option()))
			<-ctx.Done()
			return errors.Join(err, errors.New(strings.Join(log.Warnings("/"), "")))
		}
	}
	must(must(queue.New(w.s, "/jobs")).Put(w.Context(), nil))
	must(must(queue.New(w.s, "/items")).Put(w.Context(), nil))
	return []row{
		{"fxmodule.RunLeader: a leader fails, and there is no logger", failing(fxmodule.Election("x", "/x"), fxmodule.RunLeader("x",
			func(context.Context, *election.Term) error { return errors.New("out of paper") })), nil, "out of paper"},
		{"fxmodule.Consume: a job panics, and there is no logger", failing(fxmodule.Queue("x", "/jobs", queue.WithMaxAttempts(2)), fxmodule.Consume("x", 1,
			func(context.Context, *queue.Item) error { panic("out of ink") })), nil, "out of ink…dead letter"},
		{"election.Run: a function returns at once", logged(func(s *session.Session) error {
			ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
			defer cancel()
			return must(election.New(s, "/e")).Run(ctx, func(context.Context, *election.Term) error { return nil })
		}), context.DeadlineExceeded, "returns at once"},
		{"queue.Take: an item is never settled", logged(func(s *session.Session) error {
			_, err := must(queue.New(s, "/items")).Take(w.Context())
			return err
		}), nil, "an item was received and is not settled"},
		{"session.New: a server of another protocol", func() error {
			var log strings.Builder
			s := must(session.New([]string{"page"}, session.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), session.WithDialer(
				func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go func() { // ends with the connection
						_, _ = theirs.Read(make([]byte, 512))
						_, _ = io.WriteString(theirs, "HTTP/1.1 400 Bad Request\r\n"+strings.Repeat("x", 100))
						_ = theirs.Close()
					}()
					return ours, nil
				})))
			ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
			defer cancel()
			err := s.Connect(ctx)
			require.NoError(w, s.Close(w.Context()))
			require.NotContains(w, log.String(), strings.Repeat("x", 40), "as much as is worth a line")
			return errors.Join(err, errors.New(strings.ReplaceAll(log.String(), `\`, "")))
		}, nil, "this does not speak ZooKeeper: \"HTTP/1.1 400 Bad Request…this does not speak ZooKeeper: \"HTTP/1.1 400 Bad Request"},
	}
}
