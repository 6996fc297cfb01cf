package zktest_test

// The code of docs/testing.md.

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// Worker is what docs/testing.md takes for the reader's own service: it works while it holds a
// lock.
type Worker struct {
	lock    *lock.Lock
	working atomic.Bool
	grants  atomic.Int64
	done    chan struct{}
}

func StartWorker(sess *session.Session) *Worker {
	l, err := lock.New(sess, "/locks/orders")
	if err != nil {
		panic(err) // the path is a constant
	}
	w := &Worker{lock: l, done: make(chan struct{})}
	l.Acquire()
	go w.run() // ends with the lock
	return w
}

func (w *Worker) run() {
	defer close(w.done)
	for {
		select {
		case grant := <-w.lock.Acquired():
			w.grants.Add(1)
			w.working.Store(true)
			<-grant.Done()
			w.working.Store(false)
		case <-w.lock.Done():
			return
		}
	}
}

func (w *Worker) Working() bool { return w.working.Load() }

func TestWorkStopsWhenTheSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		sess := zksession.Open(t, server) // closed with the test
		worker := StartWorker(sess)       // yours
		synctest.Wait()                   // until nothing happens any more
		require.True(t, worker.Working())

		defer server.Partition(sess.Status().SessionID)() // the network fails, silently
		onServer, _ := server.Session(sess.Status().SessionID)
		time.Sleep(time.Until(onServer.Expires) - 1) // no real time passes
		require.False(t, worker.Working(), "it must have stopped before anybody else can begin")
	})
}

func TestWorkGoesOnInTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		sess := zksession.Open(t, server)
		worker := StartWorker(sess)
		synctest.Wait()
		server.Expire(sess.Status().SessionID) // as the server's administrator can
		time.Sleep(time.Minute)
		require.True(t, worker.Working())
	})
}
