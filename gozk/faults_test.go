package gozk_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/gozk"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// expected are the errors of calls while servers, connections and sessions fail.
var expected = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrConnectionClosed, session.ErrUnknownOutcome,
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if err != nil && !slices.Contains(expected, err) && !errors.Is(err, session.ErrThrottled) {
		t.Errorf("no error of go-zookeeper's: %v", err)
	}
}

// received is what a watch has next. It takes at most a day, which is longer than a test.
func received(t *testing.T, watch <-chan zk.Event) (e zk.Event, open bool) {
	t.Helper()
	select {
	case e, open = <-watch:
	case <-time.After(24 * time.Hour):
		t.Error("no event, and it does not close")
	}
	return e, open
}

// follow calls with a watch, again after each event, until the view ends.
func follow(t *testing.T, path string, call func() (<-chan zk.Event, error)) {
	t.Helper()
	for {
		watch, err := call()
		checkError(t, err)
		if err == zk.ErrConnectionClosed {
			return
		}
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		e, open := received(t, watch)
		assert.True(t, open, "an event")
		assert.Equal(t, path, e.Path)
		_, again := received(t, watch)
		assert.False(t, again, "one event")
		if e.Err == zk.ErrClosing || t.Failed() {
			return
		}
	}
}

// TestWatchesWhileAllFails: each watch has one event, none misses the last change, and no goroutine
// is left.
func TestWatchesWhileAllFails(t *testing.T) {
	t.Parallel()
	for seed := range tier.Count(8, 400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { failAll(t, uint64(seed)) })
		})
	}
}

func failAll(t *testing.T, seed uint64) {
	t.Helper()
	srv := zktest.Start(t, zktest.WithServers(1+int(seed%3)))
	sess := zksession.Open(t, srv)
	conn, _ := gozk.On(sess) // events that nobody receives hold up nothing
	require.NoError(t, srv.Load(`{"path": "/p"}`+"\n"+`{"path": "/p/a", "data": "0"}`))
	var mu sync.Mutex // of chance, for several connections
	chance := rand.New(rand.NewPCG(seed, 1))
	srv.Intercept(func(r *zktest.Request) zktest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		switch chance.IntN(60) {
		case 0:
			return zktest.CutAfter
		case 1:
			return zktest.CutBefore
		case 2:
			return zktest.Delay(time.Duration(chance.IntN(3000)) * time.Millisecond)
		case 3:
			if r.Op != zktest.OpConnect {
				return zktest.Fail(zktest.ErrThrottled)
			}
		}
		return zktest.Pass
	})
	var last string
	var followers sync.WaitGroup
	followers.Go(func() {
		follow(t, "/p/a", func() (<-chan zk.Event, error) {
			data, _, watch, err := conn.GetW("/p/a")
			last = string(data)
			return watch, err
		})
	})
	for range 3 {
		followers.Go(func() {
			follow(t, "/p/b", func() (<-chan zk.Event, error) { _, _, watch, err := conn.ExistsW("/p/b"); return watch, err })
		})
		followers.Go(func() {
			follow(t, "/p", func() (<-chan zk.Event, error) { _, _, watch, err := conn.ChildrenW("/p"); return watch, err })
		})
	}
	steps := rand.New(rand.NewPCG(seed, 2))
	id := sess.Status().SessionID // the last one
	for range 100 {
		var err error
		id = cmp.Or(conn.SessionID(), id)
		switch steps.IntN(10) {
		case 0:
			srv.Expire(id)
		case 1:
			srv.Disconnect(id)
		case 2:
			heal := srv.Partition(id)
			time.Sleep(time.Duration(steps.IntN(20)) * time.Second)
			heal()
		case 3:
			_, err = conn.Create("/p/b", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		case 4:
			err = conn.Delete("/p/b", -1)
		case 5:
			_, err = conn.Multi(&zk.CheckVersionRequest{Path: "/p", Version: -1}, &zk.SetDataRequest{Path: "/p/a", Version: -1})
		case 6:
			_, err = conn.CreateProtectedEphemeralSequential("/p/s-", nil, zk.WorldACL(zk.PermAll))
		default:
			_, err = conn.Set("/p/a", []byte("1"), -1)
		}
		checkError(t, err)
		time.Sleep(time.Duration(steps.IntN(1500)) * time.Millisecond)
	}
	require.NoError(t, srv.Znodes(t).Set("/p/a", []byte("last")))
	time.Sleep(3 * time.Minute)
	synctest.Wait()
	require.Equal(t, "last", last)
	if seed%2 == 0 {
		conn.Close()
	} else {
		assert.NoError(t, session.CloseWithin(sess, time.Minute))
	}
	bubble.Within(t, 48*time.Hour, bubble.Begin(func() error { followers.Wait(); return nil }), "the followers")
}
