package misuse_test

// Misuses of recipes. Helpers: misuse_test.go.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
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

// constructors have a session, a path, arguments of their own, and options.
var constructors = map[string]struct {
	make any
	own  []any
	acl  any // its option WithACL
}{
	"lock.New": {lock.New, nil, lock.WithACL}, "lock.NewRead": {lock.NewRead, nil, lock.WithACL}, "lock.NewWrite": {lock.NewWrite, nil, lock.WithACL},
	"lock.NewSemaphore": {lock.NewSemaphore, []any{3}, lock.WithACL}, "election.New": {election.New, nil, election.WithACL},
	"barrier.New": {barrier.New, nil, barrier.WithACL}, "barrier.NewDouble": {barrier.NewDouble, []any{2}, barrier.WithACL},
	"queue.New": {queue.New, nil, queue.WithACL}, "group.New": {group.New, nil, group.WithACL}, "naming.New": {naming.New, nil, naming.WithACL},
	"config.New": {config.New[string], []any{config.Text()}, config.WithACL}, "config.Open": {openText, []any{config.Text()}, config.WithACL},
	"twopc.NewCoordinator": {twopc.NewCoordinator, nil, twopc.WithACL}, "twopc.NewSite": {twopc.NewSite, []any{"a"}, twopc.WithACL},
}

func openText(s *session.Session, path string, codec config.Codec[string], opts ...config.Option) (*config.Cell[string], error) {
	return config.Open(context.Background(), s, path, codec, opts...)
}

// notPaths are no paths of ZooKeeper, and notACLs no ACLs.
var (
	notPaths = []any{"", "a", "a/b", "/a/", "//", "/a//b", "/a/./b", "/a/..", "/a\x00b", "/a\x01", "/\xff"}
	notACLs  = [][]session.ACL{nil, {{Perms: session.PermAll}}, {{Scheme: "world", ID: "anyone"}}, {{Perms: 64, Scheme: "world", ID: "anyone"}}}
)

// everyRecipe is what the constructors of all recipes refuse.
func everyRecipe(w *world) (rows []row) {
	zookeeper := w.Unconnected(session.WithNamespace("/zookeeper"))
	idle := w.Unconnected(session.WithDialer(func(context.Context, string, string) (net.Conn, error) {
		panic("a constructor does I/O")
	}))
	for name, c := range constructors {
		at := func(s *session.Session, path any, opts ...any) func() error {
			return call(c.make, append(append([]any{s, path}, c.own...), opts...)...)
		}
		if name != "config.Open" && name != "config.New" && name != "twopc.NewSite" { // they follow ZooKeeper from then on
			require.NoError(w, at(idle, "/a")(), name)
		}
		rows = append(rows,
			row{name + ": no session", at(nil, "/a"), nil, name + ": s: nil session"},
			row{name + ": a closed session", at(w.closed, "/a"), session.ErrClosed, name + " /a: s: the session is closed"},
			row{name + ": a nil option", at(w.s, "/a", nil), nil, name + " /a: opts[0]: nil"},
			row{name + ": in the namespace /zookeeper", at(zookeeper, "/a"), session.ErrInvalidPath, ": …: /zookeeper is"})
		for _, bad := range append(notPaths, "/", "/zookeeper", "/zookeeper/quota") {
			argument := ": path: "
			if name == "naming.New" {
				argument = ": root: "
			}
			rows = append(rows, row{fmt.Sprintf("%s: path %q", name, bad), at(w.s, bad), session.ErrInvalidPath, argument})
		}
		for i, acl := range notACLs {
			pkg, _, _ := strings.Cut(name, ".")
			with := reflect.ValueOf(c.acl).CallSlice([]reflect.Value{reflect.ValueOf(acl)})[0].Interface()
			rows = append(rows, row{fmt.Sprintf("%s.WithACL: %s, ACL %d", pkg, name, i), at(w.s, "/a", with), session.ErrInvalidACL, "WithACL: acl: "})
		}
	}
	time.Sleep(time.Minute)
	return rows
}

const forever time.Duration = math.MaxInt64

var large = make([]byte, 1<<20) // more than a server takes

// locks are misuses of package lock.
func locks(w *world) []row {
	ctx := w.Context()
	with, write, three := of(lock.New, w.s, "/a"), of(lock.NewWrite, w.s, "/a"), of(lock.NewSemaphore, w.s, "/a", 3)
	a, b, c := must(lock.New(w.s, "/a", lock.WithDelay(0), lock.WithLayout(lock.Kazoo))), must(lock.New(w.s, "/a/b")), must(lock.New(w.below, "/b"))
	m := must(lock.NewMulti(a, c))
	require.NoError(w, a.Close(ctx))
	contender := lock.Contender{Path: "/a/_c_0123456789abcdef0123456789abcdef-lock-0000000001", Token: 1}
	rows := []row{
		{"lock.New: Simple at a namespace's root", call(lock.New, w.below, "/", lock.WithLayout(lock.Simple)), session.ErrInvalidPath, "path: the root"},
		{"lock.WithData: too large", call(must(lock.New(w.s, "/a", lock.WithData(large))).Lock, ctx), session.ErrTooLarge, "lock /a: data: "},
		{"lock.WithACL: no identity", call(must(lock.New(w.s, "/a", lock.WithACL(session.AuthACL(session.PermAll)...))).Lock, ctx), session.ErrInvalidACL, "lock /a: "},
		{"lock.SetLimit: none", call(must(lock.NewSemaphore(w.s, "/a", 3)).SetLimit, ctx, 0), nil, "set limit /a: n: 0"},
		{"lock.SetLimit: no semaphore", call(a.SetLimit, ctx, 1), session.ErrUnsupported, "set limit /a: "},
		{"lock.NewMulti: no locks", call(lock.NewMulti), nil, "locks: none"},
		{"lock.NewMulti: a nil lock", call(lock.NewMulti, a, nil), nil, "locks[1]: nil"},
		{"lock.NewMulti: one lock twice", call(lock.NewMulti, a, b, a), nil, "locks[2]: same path as locks[0]"},
		{"lock.NewMulti: one path, by way of a namespace", call(lock.NewMulti, b, c), nil, "locks[1]: same path as locks[0]"},
		{"lock.Lock: a closed lock", call(a.Lock, ctx), session.ErrClosed, "lock /a: closed"},
		{"lock.TryLock: a closed lock", call(a.TryLock, ctx), session.ErrClosed, "lock /a: closed"},
		{"lock.Do: no function", call(a.Do, ctx, nil), nil, "f: nil"},
		{"lock.Multi.Do: no function", call(m.Do, ctx, nil), nil, "f: nil"},
		{"lock.Revoke: no contender", call(a.Revoke, ctx, lock.Contender{}), session.ErrInvalidPath, "revoke: "},
		{"lock.Revoke: the lock's path", call(a.Revoke, ctx, lock.Contender{Path: "/a"}), session.ErrInvalidPath, "revoke /a: "},
		{"lock.Revoke: another's", call(b.Revoke, ctx, contender), session.ErrInvalidPath, "c.Path: not that of a contender of /a/b"},
		{"lock.Break: another's", call(b.Break, ctx, contender, 0), session.ErrInvalidPath, "c.Path: not that of a contender of /a/b"},
		{"lock.Break: no token", call(a.Break, ctx, lock.Contender{Path: contender.Path}, 0), session.ErrNoAuth, "c.Token: 0"},
		{"lock.Break: a negative time", call(a.Break, ctx, contender, -1), nil, "grace: negative"},
	}
	delayed := func(l lock.Layout) func() error { return with(lock.WithLayout(l), lock.WithDelay(1)) }
	require.Equal(w, "Layout(7)", lock.Layout(7).String())
	return slices.Concat(rows,
		values("lock.WithDelay", delayed, session.ErrUnsupported, "WithDelay", lock.Simple, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper, lock.Page),
		values("lock.NewSemaphore", func(n int) func() error { return call(lock.NewSemaphore, w.s, "/a", n) }, nil, "limit: ", 0, -1, math.MinInt),
		each("lock.WithData", lock.WithData, of(lock.NewRead, w.s, "/a", lock.WithLayout(lock.Kazoo)), nil, "held\n", "placed 4\nx"),
		each("lock.WithHeldWarning", lock.WithHeldWarning, with, nil, -1, -forever),
		each("lock.WithDelay", lock.WithDelay, with, nil, -1, -forever),
		each("lock.WithDelay", lock.WithDelay, write, session.ErrUnsupported, 1),
		each("lock.WithDelay", lock.WithDelay, three, session.ErrUnsupported, 1),
		each("lock.WithWeight", lock.WithWeight, with, nil, 1),
		each("lock.WithWeight", lock.WithWeight, write, nil, 1),
		each("lock.WithWeight", lock.WithWeight, three, nil, 0, -1, 4, math.MaxInt),
		each("lock.WithLayout", lock.WithLayout, write, session.ErrUnsupported, lock.Simple, lock.JavaWriteLock, lock.GoZooKeeper),
		each("lock.WithLayout", lock.WithLayout, three, session.ErrUnsupported, lock.Simple, lock.Kazoo, lock.Page),
		each("lock.WithLayout", lock.WithLayout, with, nil, -1, 7, 1000))
}

// elections are misuses of packages election and barrier.
func elections(w *world) []row {
	ctx := w.Context()
	with, double := of(election.New, w.s, "/a"), of(barrier.NewDouble, w.s, "/a", 2)
	e, ended := must(election.New(w.s, "/e")), must(barrier.NewDouble(w.s, "/a", 2))
	require.NotEqual(w, e.Name(), must(election.New(w.s, "/e")).Name(), "each has a name of its own")
	term := must(e.Lead(ctx))
	require.NoError(w, ended.Close(ctx))
	rows := []row{
		{"election.WithName: too large", call(must(election.New(w.s, "/a", election.WithName(string(large)))).Lead, ctx), session.ErrTooLarge, "lead /a: data: "},
		{"election.WithData: too large", call(must(election.New(w.s, "/a", election.WithData(large))).Lead, ctx), session.ErrTooLarge, "lead /a: data: "},
		{"election.Break: a negative time", call(e.Break, ctx, election.Candidate{Path: term.Path(), Token: 1}, -1), nil, "grace: negative"},
		{"election.Break: no token", call(e.Break, ctx, election.Candidate{Path: term.Path()}, 0), session.ErrNoAuth, "Token: 0"},
		{"election.Run: no function", call(e.Run, ctx, nil), nil, "f: nil"},
		{"barrier.New: a namespace's root", call(barrier.New, w.below, "/"), session.ErrInvalidPath, "path: the root"},
		{"barrier.NewDouble: a namespace's root", call(barrier.NewDouble, w.below, "/", 2), session.ErrInvalidPath, "path: the root"},
		{"barrier.WithUntilExpiry: no passages", call(barrier.New, w.s, "/a", barrier.WithUntilExpiry()), session.ErrUnsupported, "WithUntilExpiry"},
		{"barrier.Enter: a closed barrier", call(ended.Enter, ctx), session.ErrClosed, "double barrier /a: "},
		{"barrier.Break: a closed barrier", call(ended.Break, ctx), session.ErrClosed, "double barrier /a: "},
	}
	other := func(l election.Layout) func() error {
		return with(election.WithLayout(l), election.WithData([]byte("x")))
	}
	transfer := func(path string) func() error { return call(term.TransferTo, ctx, election.Candidate{Path: path}) }
	breaks := func(path string) func() error { return call(e.Break, ctx, election.Candidate{Path: path, Token: 1}, 0) }
	parties := func(n int) func() error { return call(barrier.NewDouble, w.s, "/a", n) }
	require.Equal(w, "Layout(4)", election.Layout(4).String())
	return slices.Concat(rows,
		values("election.WithData", other, session.ErrUnsupported, "WithData: ", election.Curator, election.Kazoo, election.LeaderElectionSupport),
		values("election.TransferTo", transfer, session.ErrInvalidPath, "Candidate.Path: ", "", "e", "/e", "/e/other", "/elsewhere/_c_x-n_0000000001", term.Path()),
		values("election.Break", breaks, session.ErrInvalidPath, "Candidate.Path: ", "", "e", "/e", "/e/other", "/elsewhere/_c_x-n_0000000001"),
		values("barrier.NewDouble", parties, nil, "parties: ", 0, -1, 1001, math.MaxInt),
		each("election.WithName", election.WithName, with, nil, "", "\xff"),
		each("election.WithUnreceivedWarning", election.WithUnreceivedWarning, with, nil, -1, -forever),
		each("election.WithLayout", election.WithLayout, with, nil, -1, 4, 1000),
		each("barrier.WithHeldWarning", barrier.WithHeldWarning, double, nil, -1, -forever),
		each("barrier.WithName", barrier.WithName, double, nil, "", "a/b", "a\nb", "\xff"))
}

// notSequencers are no texts of a sequencer, and what is wrong with each.
var notSequencers = map[string]string{
	"": "has 1 of the 4 parts", "exclusive:1:0x1": "has 3 of the 4 parts", "mine:1:0x1:/a/b": `mode "mine"`, ":1:0x1:/a/b": `mode ""`,
	"exclusive:one:0x1:/a/b": `token "one"`, "exclusive:9223372036854775808:0x1:/a/b": `token "9223372036854775808"`,
	"exclusive:0:0x1:/a/b": "token 0", "exclusive:-5:0x1:/a/b": "token -5", "exclusive:007:0x1:/a/b": "not written as", "exclusive:+7:0x1:/a/b": "not written as",
	"exclusive:1:0xyz:/a/b": `session "0xyz"`, "exclusive:1:17:/a/b": `session "17"`, "exclusive:1:0x0:/a/b": "session 0", "exclusive:1:0xAB:/a/b": "not written as",
	"exclusive:1:0x1:a/b": "not absolute", "exclusive:1:0x1:": "not absolute", "exclusive:1:0x1:/": `has a name ""`, "exclusive:1:0x1:/a/b/": `has a name ""`,
	"exclusive:1:0x1:/a//b": `has a name ""`, "exclusive:1:0x1:/a/../b": `has a name ".."`, "exclusive:1:0x1:/a/b\n": "does not permit",
	"exclusive:1:0x1:/a/\xff": "does not permit", "exclusive:1:0x1:/a/\U0001F600": "does not permit",
}

// fences are misuses of package fence.
func fences(w *world) (rows []row) {
	for text, says := range notSequencers {
		rows = append(rows, row{"fence.Parse: " + text, call(fence.Parse, text), fence.ErrInvalid, says})
	}
	ctx, s := w.Context(), w.Session(session.WithNamespace("/app"))
	g := must(must(lock.New(s, "/locks")).Lock(ctx))
	q, big := g.Sequencer(), session.CreateOp("/big", large)
	require.NoError(w, fence.Check(ctx, s, q))
	outside := q
	outside.Path = "/application" + strings.TrimPrefix(q.Path, "/app")
	change := func(path string, token, id int64) fence.Sequencer {
		return fence.Sequencer{Path: q.Path + path, Mode: q.Mode, Token: q.Token + token, SessionID: q.SessionID + id}
	}
	elsewhere, shared := change("", 1, 0), change("", 1, 0)
	elsewhere.Path, shared.Mode = "/locks/b/_c_x-lock-0000000001", fence.Shared
	admit := func(bad fence.Sequencer) func() error {
		return func() error {
			var g fence.Gate
			require.NoError(w, g.Admit(q))
			err := g.Admit(bad)
			highest, _ := g.Highest()
			require.Equal(w, q, highest, "a refusal changes nothing")
			return err
		}
	}
	rows = slices.Concat(rows,
		values("fence.Admit", admit, fence.ErrFenced, "", elsewhere, change("2", 0, 0)),
		values("fence.Admit", admit, fence.ErrMode, "", shared), values("fence.Admit", admit, fence.ErrInvalid, "", fence.Sequencer{}),
		[]row{
			{"fence.Admit: shared, by the zero gate", call(new(fence.Gate).Admit, shared), fence.ErrMode, ""},
			{"session.Hold.Commit: no operations", call(g.Commit, ctx), nil, "ops: "},
			{"session.Hold.Commit: no path", call(g.Commit, ctx, session.CreateOp("relative", nil)), session.ErrInvalidPath, "path: "},
			{"session.Hold.Commit: too large", call(g.Commit, ctx, big), session.ErrTooLarge, ""},
		})
	check := func(q fence.Sequencer) func() error { return call(fence.Check, ctx, s, q) }
	none := fence.Sequencer{Path: "/app/nowhere/x", Mode: q.Mode, Token: q.Token, SessionID: q.SessionID}
	rows = append(rows, values("fence.Check", check, fence.ErrFenced, "", change("", 0, 1), change("", 1, 0), change("", -1, 0), change("0", 0, 0), none)...)
	for name, f := range map[string]any{"fence.Check": fence.Check, "fence.Follow": fence.Follow} {
		rows = append(rows,
			row{name + ": no session", call(f, ctx, nil, q), nil, "s: nil session"},
			row{name + ": a closed session", call(f, ctx, w.closed, q), session.ErrClosed, "closed"},
			row{name + ": the zero sequencer", call(f, ctx, s, nil), fence.ErrInvalid, `mode ""`},
			row{name + ": outside the namespace", call(f, ctx, s, outside), session.ErrInvalidPath, "q.Path: "},
			row{name + ": a context that has ended", call(f, cancelled, s, q), context.Canceled, ""})
	}
	return rows
}

// queues are misuses of package queue.
func queues(w *world) []row {
	ctx := w.Context()
	q, closed, over := must(queue.New(w.s, "/a")), must(queue.New(w.s, "/a")), must(queue.New(w.Session(), "/b"))
	for _, q := range []*queue.Queue{q, over} {
		must(q.Put(ctx, []byte("x")))
	}
	item := must(over.Take(ctx))
	require.NoError(w, closed.Close(ctx))
	with, put, consume, nack := of(queue.New, w.s, "/a"), of(q.Put, ctx, "x"), of(q.Consume), of(item.Nack, ctx)
	rows := []row{
		{"queue.New: a namespace's root", call(queue.New, w.below, "/"), session.ErrInvalidPath, "path: the root"},
		{"queue.WithDeadLetters: a namespace's root", call(queue.New, w.below, "/q", queue.WithDeadLetters("/")), session.ErrInvalidPath, "WithDeadLetters: "},
		{"queue.Put: a nil option", put(nil), nil, "put /a: opts[0]: nil"},
		{"queue.Put: too large", call(q.Put, ctx, large), session.ErrTooLarge, "put /a: "},
		{"queue.Put: a closed queue", call(closed.Put, ctx, nil), session.ErrClosed, "put /a: "},
		{"queue.WithHeader: no key", put(queue.WithHeader("", "x")), nil, "WithHeader: key: empty"},
		{"queue.WithHeader: a value that is no UTF-8", put(queue.WithHeader("k", "\xff")), nil, "WithHeader: not"},
		{"queue.WithHeader: a key that is none", put(queue.WithHeader("\xff", "x")), nil, "WithHeader: not"},
		{"queue.WithHeader: too large", put(queue.WithHeader("k", string(large))), session.ErrTooLarge, "put /a: "},
		{"queue.WithEphemeral: with a delay", put(queue.WithEphemeral(), queue.WithDelay(1)), session.ErrUnsupported, "WithEphemeral: "},
		{"queue.WithHold: nil", put(queue.WithHold(nil)), session.ErrLost, "WithHold: p: "},
		{"queue.WithHold: of another session", put(queue.WithHold(item)), session.ErrUnsupported, "WithHold: …another session"},
		{"queue.PutAll: no items", call(q.PutAll, ctx, nil), nil, "items: none"},
		{"queue.PutAll: one id for two", call(q.PutAll, ctx, [][]byte{nil, nil}, queue.WithID("x")), nil, "WithID: "},
		{"queue.Remove: no ids", call(q.Remove, ctx), nil, "remove /a: ids: none"},
		{"queue.Remove: an empty id", call(q.Remove, ctx, "x", ""), nil, "remove /a: ids: none, or an empty one"},
		{"queue.List: no items", call(q.List, ctx, 0), nil, "list /a: n: 0"},
		{"queue.List: a closed queue", call(closed.List, ctx, 1), session.ErrClosed, "list /a: "},
		{"queue.Purge: no items", call(q.Purge, ctx, -1), nil, "purge /a: n: -1"},
		{"queue.Requeue: no ids", call(q.Requeue, ctx), nil, "requeue /a: ids: none"},
		{"queue.Requeue: an empty id", call(q.Requeue, ctx, "x", ""), nil, "requeue /a: ids: none, or an empty one"},
		{"queue.Consume: a nil option", call(q.Consume, nil), nil, "opts[0]: nil"},
		{"queue.Consume: a closed queue", call(closed.Consume), session.ErrClosed, "consume /a: "},
		{"queue.Take: a closed queue", call(closed.Take, ctx), session.ErrClosed, "take /a: "},
		{"queue.Extend: 0", call(item.Extend, ctx, 0), nil, "d: 0s"},
		{"queue.Extend: no WithVisibility", call(item.Extend, ctx, time.Second), session.ErrUnsupported, "created without WithVisibility"},
		{"queue.Nack: a nil option", call(item.Nack, ctx, nil), nil, "opts[0]: nil"},
	}
	return slices.Concat(rows,
		each("queue.WithCapacity", queue.WithCapacity, with, nil, 0, -1),
		each("queue.WithMaxAttempts", queue.WithMaxAttempts, with, nil, 0, -1),
		each("queue.WithVisibility", queue.WithVisibility, with, nil, 0, 30, -1, -forever),
		each("queue.WithDeadLetters", queue.WithDeadLetters, with, session.ErrInvalidPath, "/", "/zookeeper", "/zookeeper/quota", "/a"),
		each("queue.WithDeadLetters", queue.WithDeadLetters, with, session.ErrInvalidPath, notPaths...),
		each("queue.WithBackoff", queue.WithBackoff, with, nil, nil),
		each("queue.WithUnsettledWarning", queue.WithUnsettledWarning, with, nil, -1, -forever),
		each("queue.WithPriority", queue.WithPriority, put, nil, 10_000, -10_000, math.MaxInt, math.MinInt),
		each("queue.WithDelay", queue.WithDelay, put, nil, -1, -forever),
		each("queue.WithID", queue.WithID, put, nil, "", "a/b", "..", "\x00", "a\xff", strings.Repeat("x", 256)),
		each("queue.WithPrefetch", queue.WithPrefetch, consume, nil, 0, -1, 10_001),
		each("queue.WithWorkers", queue.WithWorkers, consume, nil, 0, -1, 10_001),
		each("queue.WithPause", queue.WithPause, nack, nil, -1, -forever))
}

// commits are misuses of package twopc.
func commits(w *world) []row {
	ctx := w.Context()
	c, closed, s := must(twopc.NewCoordinator(w.s, "/a")), must(twopc.NewCoordinator(w.s, "/a")), must(twopc.NewSite(w.s, "/a", "a"))
	tx := must(c.Begin(ctx, "t", nil, "a"))
	p := bubble.Get(w, s.Proposals())
	require.NoError(w, closed.Close(ctx))
	long := strings.Repeat("x", 1025)
	rows := []row{
		{"twopc.Begin: no sites", call(c.Begin, ctx, "u", nil), nil, "sites: none"},
		{"twopc.Begin: a site twice", call(c.Begin, ctx, "u", nil, "a", "b", "a"), nil, "sites[2]: "},
		{"twopc.Begin: a long id", call(c.Begin, ctx, long, nil, "a"), nil, "id: 1025 bytes"},
		{"twopc.Begin: too large", call(c.Begin, ctx, "u", large, "a"), session.ErrTooLarge, "payload"},
		{"twopc.Begin: a closed coordinator", call(closed.Begin, ctx, "u", nil, "a"), session.ErrClosed, "/a/tx/u: closed"},
		{"twopc.List: a closed coordinator", call(closed.List, ctx), session.ErrClosed, "/a: closed"},
		{"twopc.Recover: a closed coordinator", call(closed.Recover, ctx), session.ErrClosed, "/a: closed"},
		{"twopc.Tx.Abort: a long reason", call(tx.Abort, ctx, long), nil, "reason: 1025 bytes"},
		{"twopc.Tx.Ack: undecided", call(tx.Ack, ctx), twopc.ErrUndecided, "/a/tx/t: "},
		{"twopc.Proposal.VoteAbort: a long reason", call(p.VoteAbort, ctx, long), nil, "reason: 1025 bytes"},
	}
	names := []string{"", "a/b", "..", "a\x00"}
	site := of(twopc.NewSite, w.s, "/a", "b")
	rows = append(rows, row{"twopc.WithPeerDecision: a site", site(twopc.WithPeerDecision()), nil, "WithPeerDecision: for coordinators"})
	return slices.Concat(rows,
		values("twopc.NewSite", func(bad string) func() error { return call(twopc.NewSite, w.s, "/a", bad) }, nil, "name: empty, or not a name", names...),
		values("twopc.Begin", func(bad string) func() error { return call(c.Begin, ctx, bad, nil, "a") }, nil, "id: empty, or not a name", names...),
		values("twopc.Begin", func(bad string) func() error { return call(c.Begin, ctx, "u", nil, "a", bad) }, nil, "sites[1]: empty, or not a name", names...),
		each("twopc.WithVoteTimeout", twopc.WithVoteTimeout, of(twopc.NewCoordinator, w.s, "/a"), nil, 0, 30, -1, -forever),
		each("twopc.WithVoteTimeout", twopc.WithVoteTimeout, site, nil, time.Second))
}

// records are misuses of packages group, config and naming.
func records(w *world) []row {
	ctx, x := w.Context(), []byte("x")
	g, gone := must(group.New(w.s, "/g")), must(group.New(w.s, "/g"))
	n, over := must(naming.New(w.s, "/n")), must(naming.New(w.s, "/n"))
	require.NoError(w, errors.Join(gone.Close(ctx), over.Close(ctx)))
	c := must(config.Open(ctx, w.s, "/c", config.Text()))
	w.Cleanup(func() { _ = c.Close(ctx) })
	returns := func(v string, err error) any { return func(string) (string, error) { return v, err } }
	refused := errors.New("refused on purpose")
	rows := []row{
		{"group.Join: a closed group", call(gone.Join, group.Member{Name: "a"}), session.ErrClosed, "join /g: "},
		{"config.New: no codec", call(config.New[string], w.s, "/c", nil), nil, "codec: nil"},
		{"config.New: a codec that is a nil pointer", call(config.New[string], w.s, "/c", (*badCodec)(nil)), nil, "codec: nil"},
		{"config.Open: no codec", call(config.Open[string], ctx, w.s, "/c", nil), nil, "codec: nil"},
		{"config.Update: no function", call(c.Update, ctx, nil), nil, "f: nil"},
		{"config.Update: its error", call(c.Update, ctx, returns("", refused)), refused, "update /c: "},
		{"config.Update: no text", call(c.Update, ctx, returns("\xff", nil)), nil, "the new value: "},
		{"config.Update: too large", call(c.Update, ctx, returns(string(large), nil)), session.ErrTooLarge, "the new value: "},
		{"naming.List: no prefix", call(n.List, ctx, "/a"), session.ErrInvalidPath, "prefix: "},
		{"naming.List: closed", call(over.List, ctx, ""), session.ErrClosed, "names /n: closed"},
		{"naming.Lookup: closed", call(over.Lookup, ctx, "a"), session.ErrClosed, "names /n: closed"},
		{"naming.Bind: closed", call(over.Bind, ctx, "a", x), session.ErrClosed, "names /n: closed"},
		{"naming.Unbind: closed", call(over.Unbind, ctx, "a"), session.ErrClosed, "names /n: closed"},
		{"naming.Bind: a context that has ended", call(n.Bind, cancelled, "a", x), context.Canceled, ""},
		{"naming.Lookup: a context that has ended", call(n.Lookup, cancelled, "a"), context.Canceled, ""},
		{"naming.Bind: no value", call(n.Bind, ctx, "a", nil), nil, "value: empty"},
		{"naming.Bind: too large", call(n.Bind, ctx, "a", large), session.ErrTooLarge, "value: "},
		{"naming.Bind: a nil option", call(n.Bind, ctx, "a", x, nil), nil, "opts[0]: nil"},
	}
	names := []string{"", "/a", "a/", "a//b", "a/../b", "a\x00"}
	return slices.Concat(rows,
		values("group.Join", func(name string) func() error { return call(g.Join, group.Member{Name: name}) }, nil, "name: ", "", "a/b", "..", "a\x00"),
		values("naming.Bind", func(bad string) func() error { return call(n.Bind, ctx, bad, x) }, session.ErrInvalidPath, "name: ", names...),
		values("naming.Unbind", func(bad string) func() error { return call(n.Unbind, ctx, bad) }, session.ErrInvalidPath, "name: ", names...),
		values("naming.Lookup", func(bad string) func() error { return call(n.Lookup, ctx, bad) }, session.ErrInvalidPath, "name: ", names...))
}

// badCodec is a codec by reference.
type badCodec struct{ config.Codec[string] }
