package zktest_test

import (
	"fmt"
	"math"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/zktest"
)

// A server that has lost its leader answers reads as if nothing had happened. Writes wait.
func ExampleServer_Isolate() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()

	heal := server.Isolate()
	fmt.Println("a read:", exists(conn, "/zookeeper"))
	done := later(conn, "/a")
	fmt.Println("a write is answered:", answered(done))
	heal()
	fmt.Println("after healing:", <-done)
	// Output:
	// a read: true
	// a write is answered: false
	// after healing: <nil>
}

// With a limit, an isolated server gives up as a real one does: its clients move to another one.
func ExampleServer_IsolateServer() {
	server := serve(zktest.WithServers(2))
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	session, _ := server.Session(conn.SessionID())

	heal := server.IsolateServer(session.Front, 10*time.Millisecond)
	defer heal()
	await(events, zk.StateHasSession)
	moved, _ := server.Session(conn.SessionID())
	fmt.Println("moved:", moved.Front != session.Front)
	// Output: moved: true
}

// A server that hangs: connections stand, and nothing comes.
func ExampleServer_Stop() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()

	server.Stop(0)
	done := later(conn, "/a")
	fmt.Println("answered:", answered(done))
	server.Continue(0)
	fmt.Println("then:", <-done)
	// Output:
	// answered: false
	// then: <nil>
}

// All who are connected to a server find it slow.
func ExampleServer_SlowServer() {
	server := serve()
	defer server.Close()
	heal := server.SlowServer(0, zktest.Speed{BytesPerSecond: 1000})
	defer heal()
	began := time.Now()
	conn, _ := connect(server)
	defer conn.Close()
	fmt.Println("eighty bytes of handshake take their time:", time.Since(began) >= 80*time.Millisecond)
	// Output: eighty bytes of handshake take their time: true
}

// What the server knows of a session: where it is, what it holds, and when it ends if nothing is
// heard of it.
func ExampleServer_Session() {
	server := serve(zktest.WithServers(2))
	defer server.Close()
	conn, _ := connect(server, 1)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)
	session, alive := server.Session(conn.SessionID())
	fmt.Println(alive, session.Front, session.Timeout, session.Ephemeral)
	server.Expire(session.ID)
	_, alive = server.Session(session.ID)
	fmt.Println(alive)
	// Output:
	// true 1 10s [/present]
	// false
}

// One of three servers dies: the client goes on with another one, in the same session.
func ExampleServer_Kill() {
	server := serve(zktest.WithServers(3))
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)
	session, _ := server.Session(conn.SessionID())

	server.Kill(session.Front)
	await(events, zk.StateHasSession)
	fmt.Println("the same session:", conn.SessionID() == session.ID)
	fmt.Println("the ephemeral:", exists(conn, "/present"))
	// Output:
	// the same session: true
	// the ephemeral: true
}

// A server restarts, and has kept its sessions.
func ExampleServer_Restart() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()
	present(conn, "/present", zk.FlagEphemeral)

	if err := server.Restart(0); err != nil {
		fmt.Println(err)
	}
	await(events, zk.StateHasSession)
	fmt.Println("the ephemeral:", exists(conn, "/present"))
	// Output: the ephemeral: true
}

// A server restarts, and has lost them.
func ExampleServer_LoseSessions() {
	server := serve()
	defer server.Close()
	conn, events := connect(server)
	defer conn.Close()

	server.Kill(0)
	server.LoseSessions()
	if err := server.Restart(0); err != nil {
		fmt.Println(err)
	}
	await(events, zk.StateExpired)
	fmt.Println("expired")
	// Output: expired
}

// A server that lags shows what was, until its client syncs.
func ExampleServer_Lag() {
	server := serve(zktest.WithServers(2))
	defer server.Close()
	writer, _ := connect(server, 1)
	defer writer.Close()
	reader, _ := connect(server, 0)
	defer reader.Close()
	present(writer, "/a", 0)

	server.Lag(0, 1)
	if _, err := writer.Set("/a", []byte("new"), -1); err != nil {
		fmt.Println(err)
	}
	data, _, err := reader.Get("/a")
	fmt.Println(string(data), err)
	if _, err := reader.Sync("/a"); err != nil {
		fmt.Println(err)
	}
	data, _, err = reader.Get("/a")
	fmt.Println(string(data), err)
	// Output:
	// old <nil>
	// new <nil>
}

// The last number of a sequence: 3.8 gives it again and again.
func ExampleServer_SetSequence() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	present(conn, "/line", 0)

	if err := server.SetSequence("/line", math.MaxInt32); err != nil {
		fmt.Println(err)
	}
	fmt.Println(present(conn, "/line/n-", zk.FlagSequence))
	_, err := conn.Create("/line/n-", nil, zk.FlagSequence, open)
	fmt.Println(err)
	// Output:
	// /line/n-2147483647
	// zk: node already exists
}

// The zxids of another epoch of the leader.
func ExampleServer_SetZxid() {
	server := serve()
	defer server.Close()
	if err := server.SetZxid(0x2ffffffff); err != nil {
		fmt.Println(err)
	}
	conn, _ := connect(server)
	defer conn.Close()
	present(conn, "/a", 0)
	_, stat, err := conn.Get("/a")
	fmt.Printf("%#x %v\n", stat.Czxid, err)
	// Output: 0x300000001 <nil>
}

// A tree to begin with, and the tree at the end.
func ExampleWithTree() {
	server := serve(zktest.WithTree(`
{"path": "/app/limits", "data": "10"}
{"path": "/app/locks", "kind": "container"}
`))
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	if _, err := conn.Set("/app/limits", []byte("20"), -1); err != nil {
		fmt.Println(err)
	}
	tree, err := server.Tree()
	fmt.Print(tree, err)
	// Output:
	// {"path":"/app"}
	// {"path":"/app/limits","data":"20"}
	// {"path":"/app/locks","kind":"container"}
	// <nil>
}

// More of the tree while clients are there: their watches fire.
func ExampleServer_Load() {
	server := serve()
	defer server.Close()
	conn, _ := connect(server)
	defer conn.Close()
	_, _, changed, err := conn.ExistsW("/app/limits")
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(server.Load(`{"path": "/app/limits", "data": "10"}`))
	fmt.Println((<-changed).Type)
	// Output:
	// <nil>
	// EventNodeCreated
}

// A leader that was frozen, and replaced meanwhile, does not know that when it wakes: it shows its
// old tree. Only its writes get no answer.
func ExampleServer_Depose() {
	server := serve(zktest.WithServers(3), zktest.WithTick(time.Minute), zktest.WithSeed(1)) // it learns within a tick that it is deposed
	defer server.Close()
	old, _ := connect(server, 2)
	defer old.Close()
	other, _ := connect(server, 0)
	defer other.Close()

	server.Depose(2)
	present(other, "/a", 0)
	server.Continue(2)
	fmt.Println("the old leader has /a:", exists(old, "/a"))
	fmt.Println("a write there is answered:", answered(later(old, "/b")))
	fmt.Println("the others have /a:", exists(other, "/a"))
	// Output:
	// the old leader has /a: false
	// a write there is answered: false
	// the others have /a: true
}

// An election takes a while, in which nobody is served. The sessions live on.
func ExampleWithElection() {
	const election = 200 * time.Millisecond
	server := serve(zktest.WithServers(3), zktest.WithElection(election))
	defer server.Close()
	conn, events := connect(server, 0)
	defer conn.Close()
	session := conn.SessionID()

	began := time.Now()
	server.Kill(2) // the leader
	await(events, zk.StateDisconnected)
	await(events, zk.StateHasSession)
	fmt.Println("after the election:", time.Since(began) >= election)
	fmt.Println("the same session:", conn.SessionID() == session)
	// Output:
	// after the election: true
	// the same session: true
}
