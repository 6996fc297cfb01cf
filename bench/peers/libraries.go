//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	troupe "github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// bare is a session of go-zookeeper's, for its own lock or for the raw requests.
type bare struct {
	*zk.Conn
	address string
	raw     bool
}

func connectTo(raw bool) func(context.Context, string, time.Duration) (session, error) {
	return func(_ context.Context, server string, timeout time.Duration) (session, error) {
		conn, _, err := zk.Connect([]string{server}, timeout, zk.WithLogInfo(false))
		for end := time.Now().Add(patience); err == nil && conn.State() != zk.StateHasSession && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		return bare{conn, server, raw}, err
	}
}

func (b bare) close() error {
	b.Close()
	return nil
}

var acl = zk.WorldACL(zk.PermAll)

func (b bare) contender(ctx context.Context, r *row, i int, dir string) (contender, error) {
	connected := func() bool { return b.State() == zk.StateHasSession } // it knows nothing else about its holds
	if !b.raw {
		l := zk.NewLock(b.Conn, dir, acl)
		return contender{l.Lock, l.Unlock, connected}, nil
	}
	if r.trees() {
		return b.tree(ctx, r, dir)
	}
	if _, err := b.Create(dir, nil, 0, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return contender{}, err
	}
	p := &place{bare: b, dir: dir, parties: r.sessions, name: "lock-"}
	switch {
	case r.kind == "barrier":
		return contender{p.enter, p.leave, nil}, nil
	case r.kind == "pipeline":
		return b.pipeline(ctx, r, dir)
	case r.shared(i):
		p.name, p.behind = "read-", "write-"
	case r.kind == "shared":
		p.name = "write-"
	}
	return contender{p.lock, p.unlock, connected}, nil
}

// place is a contender of raw requests: the fewest that keep the order as long as no process dies
// or gives up.
type place struct {
	bare
	dir, name, behind string // behind is a part of the names of contenders that it waits for
	parties           int
	mine              string
}

// guid makes names as long as those of the other libraries, which matters in every listing.
const guid = "_c_0123456789abcdef0123456789abcdef-"

// lock creates, lists, and waits for the contender before its own.
func (p *place) lock() (err error) {
	p.mine, err = p.Create(p.dir+"/"+guid+p.name, nil, zk.FlagEphemeral|zk.FlagSequence, acl)
	for more := true; more && err == nil; more = more && p.name == "write-" { // several readers may be in its way
		more, err = p.wait()
	}
	return err
}

// wait waits for the deletion of the contender before its own, and reports whether there was one.
func (p *place) wait() (waited bool, err error) {
	names, _, err := p.Children(p.dir)
	ahead := last(names, path.Base(p.mine), p.behind)
	if err != nil || ahead == "" {
		return false, err
	}
	_, _, gone, err := p.GetW(p.dir + "/" + ahead)
	if err == nil {
		err = (<-gone).Err
	} else if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return true, err
}

// last is the last name before mine that contains behind.
func last(names []string, mine, behind string) (ahead string) {
	sequence := func(name string) string { return name[len(name)-10:] }
	for _, name := range names {
		if sequence(name) < sequence(mine) && (ahead == "" || sequence(name) > sequence(ahead)) && strings.Contains(name, behind) {
			ahead = name
		}
	}
	return ahead
}

func (p *place) unlock() error { return p.Delete(p.mine, -1) }

// enter enters a double barrier as a party. The last party creates the ready znode.
func (p *place) enter() (err error) {
	_, _, ready, unseen := p.ExistsW(p.dir + "-ready")
	p.mine, err = p.Create(p.dir+"/p-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
	names, _, unlisted := p.Children(p.dir)
	if err := errors.Join(unseen, err, unlisted); err != nil {
		return err
	}
	if len(names) < p.parties || last(names, "p-9999999999", "") != path.Base(p.mine) {
		return (<-ready).Err
	}
	_, err = p.Create(p.dir+"-ready", nil, 0, acl)
	return err
}

// leave counts in the version of the ready znode. The last party deletes it.
func (p *place) leave() error {
	_, _, gone, unseen := p.ChildrenW(p.dir + "-ready")
	done, err := p.Multi(&zk.DeleteRequest{Path: p.mine, Version: -1}, &zk.SetDataRequest{Path: p.dir + "-ready", Version: -1})
	if err := errors.Join(unseen, err); err != nil {
		return err
	}
	if int(done[1].Stat.Version) < p.parties {
		return (<-gone).Err
	}
	return p.Delete(p.dir+"-ready", -1)
}

// ours is a session of Troupe's.
type ours struct{ *troupe.Session }

// connectTroupe makes sessions with options.
func connectTroupe(opts ...troupe.Option) func(context.Context, string, time.Duration) (session, error) {
	return func(ctx context.Context, server string, timeout time.Duration) (session, error) {
		s, err := troupe.Open(ctx, []string{server}, append(opts, troupe.WithTimeout(timeout))...)
		return ours{s}, err
	}
}

// discarded is the option of a session that reports all that it can. Everything is thrown away.
func discarded() (opt troupe.Option, collect func()) {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	return telemetry.Option(meters, sdktrace.NewTracerProvider()), func() {
		time.Sleep(20 * time.Millisecond) // the last events are told by then
		_ = reader.Collect(context.Background(), new(metricdata.ResourceMetrics))
	}
}

func (o ours) close() error {
	return troupe.CloseWithin(o, 8*patience)
}

func (o ours) contender(ctx context.Context, r *row, i int, path string) (contender, error) {
	construct := lock.New
	switch {
	case r.takeover():
		e, err := election.New(o.Session, path)
		var t *election.Term
		return contender{func() (err error) { t, err = e.Lead(ctx); return err }, func() error { return t.Resign(ctx) }, func() bool { return t.Valid() }}, err
	case r.kind == "barrier":
		d, err := barrier.NewDouble(o.Session, path, r.sessions, barrier.WithName(fmt.Sprint("p", i)))
		var p *barrier.Passage
		return contender{func() (err error) { p, err = d.Enter(ctx); return err }, func() error { return p.Leave(ctx) }, nil}, err
	case r.kind == "pipeline":
		return o.pipeline(ctx, path)
	case r.trees():
		return o.tree(ctx, r, path)
	case r.shared(i):
		construct = lock.NewRead
	case r.kind == "shared":
		construct = lock.NewWrite
	}
	l, err := construct(o.Session, path)
	var g *lock.Grant
	return contender{func() (err error) { g, err = l.Lock(ctx); return err }, func() error { return g.Release(ctx) }, nil}, err
}

// crowds are locks of one session that wait, onPath of them on each path.
var crowds = map[string]int{"close": 40_000, "waiting": 100_000}

const onPath = 100

// measureCrowd lets locks wait, and returns their row of the table.
func measureCrowd(locks int) (line string, err error) {
	debug.FreeOSMemory() // of earlier measurements
	e, err := ensemble.New(1, ensemble.WithJVM("-Xmx2g"))
	if err != nil {
		return "", err
	}
	defer e.Close()
	empty, began := memory(), time.Now()
	s, err := troupe.Open(context.Background(), e.Servers(), troupe.WithTimeout(time.Minute))
	if err != nil {
		return "", err
	}
	for i := range locks + locks/onPath { // one on each path holds
		l, err := lock.New(s, fmt.Sprint("/crowd-", i%(locks/onPath)))
		if err != nil {
			return "", err
		}
		l.Acquire()
	}
	err = settle(e, locks+locks/onPath, 1, 20*patience)
	queued := time.Since(began)
	live, resident := (memory()-empty)/1024, status("self", 24)*float64(os.Getpagesize())/(1<<20)
	began = time.Now()
	err = errors.Join(err, ours{s}.close())
	return fmt.Sprintf("%d | %.0f | %.0f | %.0f | %.1f |\n", locks, queued.Seconds(), live, resident, time.Since(began).Seconds()), err
}
