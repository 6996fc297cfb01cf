package zktest_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/zktest"
)

// Lose the reply to the next create: the znode is there, and the client doesn't know.
func ExampleServer_Intercept() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	remove := server.Intercept(func(q *zktest.Request) zktest.Verdict {
		if q.Op == zktest.OpCreate {
			return zktest.CutAfter
		}
		return zktest.Pass
	})
	_, err := conn.Create("/unknown", nil, 0, open)
	fmt.Println(err)
	remove()
	await(events, zk.StateHasSession) // the same session, on a new connection
	fmt.Println(exists(conn, "/unknown"))
	// Output:
	// zk: connection closed
	// true
}

// Lose the k-th request of a session, for every k in turn: whatever is lost, the scenario must come
// through.
func ExampleServer_Intercept_kthRequest() {
	lost := 0
	for k := int64(1); ; k++ {
		server := serve()
		conn, _ := connect(server)
		var n atomic.Int64
		server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op != zktest.OpConnect && q.Op != zktest.OpPing && n.Add(1) == k {
				return zktest.CutBefore // or CutAfter, for the reply
			}
			return zktest.Pass
		})
		for _, path := range []string{"/a", "/a/b", "/a/b/c"} { // the scenario, with its own way to come through
			for {
				if _, err := conn.Create(path, nil, 0, open); err == nil || err == zk.ErrNodeExists {
					break
				}
			}
		}
		conn.Close()
		server.Close()
		if n.Load() < k {
			break // it has come through without loss
		}
		lost++
	}
	fmt.Println("lost one of each of", lost, "requests")
	// Output: lost one of each of 4 requests
}

// A request that is answered with an error, and not carried out.
func ExampleFail() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	defer server.Intercept(func(q *zktest.Request) zktest.Verdict {
		if q.Path == "/secret" {
			return zktest.Fail(zktest.ErrNoAuth)
		}
		return zktest.Pass
	})()
	_, err := conn.Create("/secret", nil, 0, open)
	fmt.Println(err)
	// Output: zk: not authenticated
}

// A request that takes its time.
func ExampleDelay() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	defer server.Intercept(func(q *zktest.Request) zktest.Verdict {
		if q.Op == zktest.OpCreate {
			return zktest.Delay(20 * time.Millisecond)
		}
		return zktest.Pass
	})()
	began := time.Now()
	present(conn, "/a", 0)
	fmt.Println(time.Since(began) >= 20*time.Millisecond)
	// Output: true
}

// One release, one watch event, one listing: what a lock costs when it changes hands, although many
// wait.
func ExampleServer_Journal() {
	server := serve()
	defer server.Close()
	holder, _ := connect(server)
	defer holder.Close()
	present(holder, "/lock", 0)
	first := present(holder, "/lock/n-", zk.FlagEphemeral|zk.FlagSequence)
	var next <-chan zk.Event
	var second *zk.Conn
	ahead := first
	for range 3 { // each watches the one ahead of it
		waiter, _ := connect(server)
		defer waiter.Close()
		own := present(waiter, "/lock/n-", zk.FlagEphemeral|zk.FlagSequence)
		_, _, gone, err := waiter.ExistsW(ahead)
		if err != nil {
			panic(err)
		}
		if ahead == first {
			second, next = waiter, gone
		}
		ahead = own
	}

	server.ClearJournal()
	if err := holder.Delete(first, -1); err != nil {
		panic(err)
	}
	<-next
	if _, _, err := second.Children("/lock"); err != nil {
		panic(err)
	}
	for _, q := range server.Journal() {
		if q.Op != zktest.OpPing {
			fmt.Println(q.Op, q.Path, "fired", q.Fired)
		}
	}
	// Output:
	// delete /lock/n-0000000000 fired 1
	// getChildren2 /lock fired 0
}
