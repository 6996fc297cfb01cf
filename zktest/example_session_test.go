package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/zktest"
)

// What does a service do when its session expires? Here: it is told when it reconnects, and its
// ephemerals are gone.
func ExampleServer_Expire() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)

	server.Expire(conn.SessionID())
	await(events, zk.StateExpired)
	fmt.Println("expired")
	await(events, zk.StateHasSession) // the library opens a new one
	fmt.Println(exists(conn, "/present"))
	// Output:
	// expired
	// false
}

// The client is not told: it reconnects, and has another session, without its ephemerals.
func ExampleServer_ExpireSilently() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)
	before := conn.SessionID()

	server.ExpireSilently(before)
	await(events, zk.StateHasSession)
	fmt.Println("the same session:", conn.SessionID() == before)
	fmt.Println("the ephemeral:", exists(conn, "/present"))
	// Output:
	// the same session: false
	// the ephemeral: false
}

// A connection that breaks costs nothing but time: the session and its ephemerals are still there.
func ExampleServer_Disconnect() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)
	before := conn.SessionID()

	server.Disconnect(before)
	await(events, zk.StateHasSession)
	fmt.Println("the same session:", conn.SessionID() == before)
	fmt.Println("the ephemeral:", exists(conn, "/present"))
	// Output:
	// the same session: true
	// the ephemeral: true
}

// Cut off for longer than its timeout, a client loses its session, and learns of it when the
// network is back.
func ExampleServer_Partition() {
	server := serve(zktest.WithTick(10*time.Millisecond), zktest.WithSessionTimeouts(500*time.Millisecond, time.Minute))
	defer server.Close()
	holder, events := connectWith(server, inMemory(server), 500*time.Millisecond)
	defer holder.Close()
	present(holder, "/held", zk.FlagEphemeral)
	other, _ := connect(server)
	defer other.Close()
	_, _, gone, err := other.ExistsW("/held")
	if err != nil {
		panic(err)
	}

	heal := server.Partition(holder.SessionID())
	fmt.Println("to others:", (<-gone).Type)
	heal()
	await(events, zk.StateExpired)
	fmt.Println("to itself: expired")
	// Output:
	// to others: EventNodeDeleted
	// to itself: expired
}

// What the client sends vanishes, but it still hears: the event arrives, and its own write waits.
func ExampleServer_PartitionOneWay() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	other, _ := connect(server)
	defer other.Close()
	present(conn, "/a", 0)
	_, _, changed, err := conn.GetW("/a")
	if err != nil {
		panic(err)
	}

	heal := server.PartitionOneWay(conn.SessionID(), zktest.ToServer)
	if _, err := other.Set("/a", []byte("new"), -1); err != nil {
		panic(err)
	}
	fmt.Println((<-changed).Type)
	done := later(conn, "/b")
	fmt.Println("answered:", answered(done))
	heal()
	fmt.Println("after healing:", <-done)
	// Output:
	// EventNodeDataChanged
	// answered: false
	// after healing: <nil>
}

// A host is cut off with all of its clients, and can't open new connections either.
func ExampleHost_Partition() {
	server := serve()
	defer server.Close()
	host := server.Host("worker")
	conn, _ := connectWith(server, dialWith(host.Dialer()), 10*time.Second)
	defer conn.Close()

	heal := host.Partition()
	done := later(conn, "/a")
	fmt.Println("answered:", answered(done))
	heal()
	fmt.Println("after healing:", <-done)
	// Output:
	// answered: false
	// after healing: <nil>
}

// What the server sends to a host vanishes: the request is carried out, and the answer comes when
// the network is back.
func ExampleHost_PartitionOneWay() {
	server := serve()
	defer server.Close()
	host := server.Host("worker")
	conn, _ := connectWith(server, dialWith(host.Dialer()), 10*time.Second)
	defer conn.Close()
	other, _ := connect(server)
	defer other.Close()
	_, _, created, err := other.ExistsW("/a")
	if err != nil {
		panic(err)
	}

	heal := host.PartitionOneWay(zktest.FromServer)
	done := later(conn, "/a")
	fmt.Println("to others:", (<-created).Type)
	fmt.Println("answered:", answered(done))
	heal()
	fmt.Println("after healing:", <-done)
	// Output:
	// to others: EventNodeCreated
	// answered: false
	// after healing: <nil>
}

// A slow way, not a broken one: every request takes at least twice the latency.
func ExampleServer_Slow() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()

	heal := server.Slow(conn.SessionID(), zktest.Speed{Latency: 20 * time.Millisecond, BytesPerSecond: 1_000_000})
	began := time.Now()
	exists(conn, "/")
	fmt.Println("slow:", time.Since(began) >= 40*time.Millisecond)
	heal() // from here on, requests are quick again
	// Output: slow: true
}

// All clients of a host are far away; bandwidth is per connection.
func ExampleHost_Slow() {
	server := serve()
	defer server.Close()
	host := server.Host("another continent")
	heal := host.Slow(zktest.Speed{Latency: 20 * time.Millisecond})
	defer heal()
	began := time.Now()
	conn, _ := connectWith(server, dialWith(host.Dialer()), 10*time.Second)
	defer conn.Close()
	fmt.Println("the handshake is slow too:", time.Since(began) >= 40*time.Millisecond)
	// Output: the handshake is slow too: true
}
