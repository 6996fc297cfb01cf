// Package memory finds out whether ZooKeeper forgets writes that it has confirmed. Servers of 3.8.0
// do when they are killed at the wrong moment (ZOOKEEPER-4643, ZOOKEEPER-4646): one that has taken
// over a new leader's epoch, but has not logged its history yet, wins the next election over one
// that has it. Nothing that rests on ZooKeeper can be right then, so only the events before the
// storm in which that happened are checked.
//
// It uses no tested code: at each server it writes a znode of its own over and over through
// go-zookeeper, each time on condition that the version is the one confirmed last.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// Memory watches over the confirmed writes of a set of servers.
type Memory struct {
	stop    context.CancelFunc
	writers sync.WaitGroup
	parents []string // absolute paths, see deleted

	mu        sync.Mutex
	deleted   deleted
	caughtUp  []int  // by server: how many of the deletions it has carried out for certain
	forgotten string // a forgotten write, or ""
	twice     []history.Event
	confirmed []uint64 // by server: how many writes were confirmed, or found later
}

const (
	remembering = 50 * time.Millisecond // from one write to the next
	none        = -1                    // the version of a znode that does not exist
)

// Start begins to write at each of the servers, and to list the contenders below parents. The
// memory has to be closed.
func Start(servers []string, parents ...string) *Memory {
	ctx, stop := context.WithCancel(context.Background()) // ends with close
	m := &Memory{
		stop: stop, parents: parents, deleted: make(deleted), caughtUp: make([]int, len(servers)), confirmed: make([]uint64, len(servers)),
	}
	for i, addr := range servers {
		m.writers.Go(func() { m.write(ctx, i, addr) }) // owner: the memory; ends with close
	}
	return m
}

// Close ends it, and waits until its goroutines have ended.
func (m *Memory) Close() {
	m.stop()
	m.writers.Wait()
}

// write keeps writing through one server.
func (m *Memory) write(ctx context.Context, i int, addr string) {
	conn, _, err := zk.Connect([]string{addr}, time.Minute, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		m.forget(fmt.Sprintf("server %d can't be watched: %v", i, err))
		return
	}
	defer conn.Close()
	m.writers.Go(func() { m.follow(ctx, conn, i) }) // owner: the memory; ends with close
	path, version := fmt.Sprintf("/memory-%d", i), int32(none)
	for ctx.Err() == nil {
		m.mu.Lock()
		known := len(m.deleted)
		m.mu.Unlock()
		next, wrote, err := remember(conn, path, version)
		switch {
		case err == nil && next < version:
			m.forget(fmt.Sprintf("server %d had confirmed version %d of %s, and has version %d", i, version, path, next))
			return
		case err == nil:
			version = next
			m.mu.Lock()
			if wrote {
				m.caughtUp[i] = known
			}
			m.confirmed[i]++
			m.mu.Unlock()
		}
		select {
		case <-time.After(remembering):
		case <-ctx.Done():
		}
	}
}

// remember makes the next write, or finds out the outcome of an earlier one, and returns the
// version of the znode.
func remember(conn *zk.Conn, path string, version int32) (now int32, wrote bool, err error) {
	if version != none {
		stat, err := conn.Set(path, nil, version)
		switch {
		case err == nil:
			return stat.Version, true, nil
		case !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNoNode):
			return 0, false, err
		}
	} else if _, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return 0, false, err
	}
	if _, err := conn.Sync(path); err != nil {
		return 0, false, err
	}
	exists, stat, err := conn.Exists(path)
	if err == nil && !exists {
		return none, false, nil
	}
	return stat.Version, false, err
}

func (m *Memory) forget(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetLocked(what)
}

func (m *Memory) forgetLocked(what string) {
	if m.forgotten == "" {
		m.forgotten = what
	}
}

// Lost waits until each server has confirmed another write, or ctx ends, and returns a forgotten
// write, or "".
func (m *Memory) Lost(ctx context.Context) string {
	m.mu.Lock()
	before := append([]uint64(nil), m.confirmed...)
	m.mu.Unlock()
	for {
		m.mu.Lock()
		what, all := m.forgotten, true
		for i := range before {
			all = all && m.confirmed[i] > before[i]
		}
		m.mu.Unlock()
		if what != "" || all || ctx.Err() != nil {
			return what
		}
		select {
		case <-time.After(remembering):
		case <-ctx.Done():
		}
	}
}

// silent is a log that drops everything.
type silent struct{}

func (silent) Printf(string, ...any) {}
