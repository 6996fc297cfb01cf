package ensemble

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/tempdir"
)

const (
	pollEvery    = 15 * time.Millisecond
	startTimeout = time.Minute // generous, because machines that run tests are busy
	logLines     = 60          // lines of each server's log that are shown when a test fails
	rootKind     = "troupe-zookeeper"
)

// Ensemble is a set of real ZooKeeper servers, numbered from 0. It is safe for concurrent use.
// Methods that take a server's number panic if there is no such server, as an index expression
// does.
type Ensemble struct {
	root    *tempdir.Folder
	plan    *plan
	servers []*server
	proxies []*Proxy // in front of the client ports
	peers   peering
	close   sync.Once
}

// Start starts n servers, 1 to 9, and returns when all of them serve. They end with the test. If
// the test fails, its log shows the end of theirs. Where ZooKeeper is not installed the test fails;
// a test that is to be skipped there asks [Available] first.
func Start(t TB, n int, opts ...Option) *Ensemble {
	t.Helper()
	e, err := New(n, opts...)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, sv := range e.servers {
				t.Logf("end of the log of ZooKeeper server %d:\n%s", sv.id, sv.logTail(logLines))
			}
		}
		e.Close()
	})
	return e
}

// New is like Start, without a test: the caller ends the ensemble with Close. Servers that do not
// start are tried once more, at other addresses. The error says what is missing, or contains the
// end of the log of a server that did not start.
func New(n int, opts ...Option) (*Ensemble, error) {
	if n < 1 || n > maxServers {
		return nil, fmt.Errorf("ensemble: %d servers: not between 1 and %d", n, maxServers)
	}
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	install, err := find()
	if err != nil {
		return nil, err
	}
	e, first := begin(n, s, install)
	if first == nil {
		return e, nil
	}
	// Another program may have taken a port between the choice of it and the server's start.
	e, err = begin(n, s, install)
	if err != nil {
		return nil, fmt.Errorf("%w; before that: %w", err, first)
	}
	return e, nil
}

// begin builds an ensemble and starts its servers; nothing is left of one that fails.
func begin(n int, s settings, install installation) (*Ensemble, error) {
	e := &Ensemble{}
	err := e.build(n, s, install)
	if err == nil {
		err = e.startAll()
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Ensemble) build(n int, s settings, install installation) (err error) {
	if e.root, err = tempdir.New(rootKind); err != nil {
		return err
	}
	if e.plan, err = newPlan(n, s.ports); err != nil {
		return err
	}
	if err := e.peers.open(e.plan.links); err != nil {
		return err
	}
	for i := range n {
		sv, err := newServer(i, e.root.Path(), e.plan, s, install)
		if err != nil {
			return err
		}
		proxy, err := NewProxy(sv.addr)
		if err != nil {
			return err
		}
		e.servers, e.proxies = append(e.servers, sv), append(e.proxies, proxy)
	}
	return nil
}

func (e *Ensemble) startAll() error {
	for _, sv := range e.servers {
		if err := sv.start(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout) // New has no context: tests call it
	defer cancel()
	return e.Await(ctx)
}

// Close kills the servers and removes their files. It may be called more than once.
func (e *Ensemble) Close() {
	e.close.Do(func() {
		for _, sv := range e.servers {
			sv.kill()
		}
		for _, p := range e.proxies {
			p.Close()
		}
		e.peers.close()
		if e.plan != nil {
			e.plan.release()
		}
		e.root.Remove()
	})
}

// Servers returns the addresses of the servers' client ports, host:port. They do not change.
func (e *Ensemble) Servers() []string {
	var addrs []string
	for _, sv := range e.servers {
		addrs = append(addrs, sv.addr)
	}
	return addrs
}

// Proxied returns the addresses of the proxies in front of the servers' client ports.
func (e *Ensemble) Proxied() []string {
	var addrs []string
	for _, p := range e.proxies {
		addrs = append(addrs, p.Addr())
	}
	return addrs
}

// Proxies returns the proxies in front of the servers' client ports. Their faults affect the
// clients that use the addresses of Proxied.
func (e *Ensemble) Proxies() []*Proxy { return append([]*Proxy(nil), e.proxies...) }

// Kill kills a server as kill -9 does, and returns when it is dead. Its files remain for Restart.
// Killing a dead server has no effect.
func (e *Ensemble) Kill(i int) { e.servers[i].kill() }

// Stop pauses a server (SIGSTOP): its connections stay open, but it does not answer. Stopping a
// dead server has no effect.
func (e *Ensemble) Stop(i int) { e.servers[i].setPaused(true) }

// Continue continues a server that was paused with Stop.
func (e *Ensemble) Continue(i int) { e.servers[i].setPaused(false) }

// Restart starts a server again with its files, after killing it if it runs. It returns when the
// server serves. If the server is isolated or a link of it is severed, or too few servers run for
// a majority, it returns when the server listens. The error contains the end of the server's log.
func (e *Ensemble) Restart(i int) error {
	sv := e.servers[i]
	if err := sv.start(); err != nil {
		return err
	}
	ready := sv.listens
	if e.majority() && !e.peers.isIsolated(i) && !e.peers.isSevered(i) {
		ready = sv.serves
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout) // no context: tests call it
	defer cancel()
	return sv.explain(sv.await(ctx, ready))
}

// Folder is the directory of a server's data, which are in version-2 below it. While the server is
// killed, version-2 can be deleted, or replaced by an older copy.
func (e *Ensemble) Folder(i int) string { return filepath.Join(e.servers[i].dir, "data") }

// Await returns when all running servers that are neither paused nor isolated serve. If they are no
// majority, it waits until ctx ends. The error contains the end of a log.
func (e *Ensemble) Await(ctx context.Context) error {
	var errs []error
	for i, sv := range e.servers {
		if sv.running() && !e.peers.isIsolated(i) {
			errs = append(errs, sv.explain(sv.await(ctx, sv.serves)))
		}
	}
	return errors.Join(errs...)
}

// Leader returns the number of the leader, or -1 if there is none at the moment. An isolated leader
// does not count, although it believes for a while that it leads. A single server leads.
// [Ensemble.AwaitLeader] waits for one.
func (e *Ensemble) Leader() int {
	for i, sv := range e.servers {
		if !sv.running() || e.peers.isIsolated(i) {
			continue
		}
		switch mode(context.Background(), sv.addr) { // bounded by the exchange's own timeout
		case "leader", "standalone":
			return i
		}
	}
	return -1
}

// AwaitLeader waits until there is a leader, as [Ensemble.Leader] defines it, and returns its
// number. It fails when ctx ends.
func (e *Ensemble) AwaitLeader(ctx context.Context) (int, error) {
	for {
		if leader := e.Leader(); leader >= 0 {
			return leader, nil
		}
		if !pause(ctx, pollEvery) {
			return -1, fmt.Errorf("ensemble: no leader: %w", ctx.Err())
		}
	}
}

// Isolate cuts a server off from its peers, silently: packets between them are dropped. The server
// goes on serving reads and pings to its clients until it notices, after syncLimit (five seconds).
// Then it drops them. heal reconnects it, and may be called more than once.
func (e *Ensemble) Isolate(i int) (heal func()) {
	_ = e.servers[i] // panic here, as documented, not in peering
	return e.peers.isolate(i)
}

// Sever cuts the link between two servers, silently and both ways; their links to others stay.
// Messages between them arrive when heal is called, unless that takes longer than syncLimit (five
// seconds): then a follower gives up its leader, drops its clients, and finds no leader until heal.
// heal may be called more than once. On other systems than Linux, election traffic passes.
func (e *Ensemble) Sever(i, j int) (heal func()) {
	_, _ = e.servers[i], e.servers[j] // panic here, as documented, not in peering
	return e.peers.sever(i, j)
}

func (e *Ensemble) majority() bool {
	connected := 0
	for i, sv := range e.servers {
		if sv.running() && !e.peers.isIsolated(i) {
			connected++
		}
	}
	return connected > len(e.servers)/2
}

func (sv *server) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ensemble: server %d does not serve: %w; end of its log:\n%s", sv.id, err, sv.logTail(logLines))
}
