package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// GoZooKeeper is the library whose own lock is driven by the workload lock for comparison. It is
// used as carefully as it allows: its user gives up what it holds as soon as the library says that
// the connection is lost.
const GoZooKeeper = "go-zookeeper"

var errConnectionLost = errors.New("the library said that the connection is lost")

// gozk is a connection of go-zookeeper's, and what it has said.
type gozk struct {
	conn *zk.Conn

	mu   sync.Mutex
	down chan struct{} // closed when the connection is lost, and replaced
}

// gozkHold is what one call of Lock has brought.
type gozkHold struct{ down chan struct{} }

func (h gozkHold) Done() <-chan struct{} { return h.down }
func (h gozkHold) Err() error            { return errConnectionLost }
func (h gozkHold) Token() int64          { return 0 }

func (h gozkHold) Valid() bool {
	select {
	case <-h.down:
		return false
	default:
		return true
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// goZooKeeperLoad is the workload lock on go-zookeeper's zk.Lock: two parties of one connection.
func goZooKeeperLoad(ctx context.Context, e *env) {
	conn, events, err := zk.Connect(e.Servers, e.Timeout, zk.WithLogger(silent{}))
	if err != nil {
		e.failed("connect", err)
		return
	}
	g := &gozk{conn: conn, down: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { g.listen(events) }) // owner: goZooKeeperLoad; ends when the connection is closed
	for _, party := range []string{".c", ".s"} {
		f := e.fork()
		wg.Go(func() { f.goZooKeeperCalls(ctx, g, f.Name+party) }) // owner: goZooKeeperLoad; ends with busy, or when the connection is closed
	}
	<-e.busy.Done()
	pause(ctx, time.Minute) // until the end, so that what is held can be given up
	conn.Close()
	wg.Wait()
}

func (g *gozk) listen(events <-chan zk.Event) {
	for ev := range events {
		if ev.Type == zk.EventSession && (ev.State == zk.StateDisconnected || ev.State == zk.StateExpired) {
			g.mu.Lock()
			close(g.down)
			g.down = make(chan struct{})
			g.mu.Unlock()
		}
	}
}

func (g *gozk) epoch() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.down
}

func (e *env) goZooKeeperCalls(ctx context.Context, g *gozk, party string) {
	for n := 0; e.busy.Err() == nil; n++ {
		l := zk.NewLock(g.conn, Root+"/lock/line", zk.WorldACL(zk.PermAll))
		down := g.epoch()
		if err := l.Lock(); err != nil {
			pause(e.busy, 50*time.Millisecond)
			continue
		}
		e.moved()
		// A connection that was lost while Lock waited has come back: what counts is what is said
		// from now on.
		if now := g.epoch(); now != down {
			down = now
		}
		e.possess(ctx, claim{thing: "lock/line", party: fmt.Sprintf("%s#%d", party, n)}, gozkHold{down}, e.hold())
		if err := l.Unlock(); err != nil {
			e.Write(history.Event{Kind: history.Over, Work: e.work, Party: party, Value: err.Error()})
		}
		pause(e.busy, e.span(100*time.Millisecond))
	}
}
