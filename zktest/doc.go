// Package zktest is an in-process ZooKeeper server for tests. It implements the client protocol of
// ZooKeeper 3.8 and 3.9, and lets a test inject faults and control the clock.
//
//	server := zktest.Start(t)             // closed with the test
//	service := Start(server.Servers())    // yours, over TCP on 127.0.0.1
//	…
//	server.Expire(service.SessionID())    // and now?
//
// It is one process that keeps everything in memory: for tests, demonstrations and development, not
// for production data. An idle server has no goroutine and no socket, starts in microseconds and
// takes a few kilobytes.
//
// # Time
//
// The clock is that of package time. Inside a testing/synctest bubble it is virtual, and clients
// connect in memory: with [Server.Dialer] and the addresses of [Server.Hosts], as package zksession
// does for Troupe's own. [Server.Servers] fails the test there: sockets would hang. A session then
// expires at an exact instant, in no real time. Sessions expire at ticks (2 seconds by default, see
// [WithTick]), counted from the server's start: a session that was last heard of at t expires at
// the first tick after t plus its timeout. [Server.Session] returns that instant. With
// [WithServers] the servers pass on what they hear of sessions twice a tick, and what was not
// passed on does not count, as in an ensemble.
//
// # Faults
//
//	Expire, ExpireSilently         a session ends
//	Disconnect                     a connection ends
//	Slow, Host.Slow                a connection in memory has a latency
//	Partition, PartitionOneWay     a session's packets are silently dropped
//	Host(name).Partition           all packets from one machine are dropped
//	Isolate, IsolateServer         a server has lost its leader, and still answers its clients
//	HoldUp                         a server's writes are carried out late
//	Stop, Continue                 a server hangs
//	Kill, Restart, LoseSessions    a server dies, comes back, loses its sessions
//	Lag                            a server shows an old state; the leader also behind a sync
//	Intercept                      a request or its reply is dropped, delayed, refused, cut off
//	SetSequence                    a counter is close to its limit
//
// # State
//
// [Server.Znodes] prepares the tree, waits for it and checks it, without a client:
//
//	z := server.Znodes(t)
//	err := z.Create("/jobs/1", []byte("resize")) // for your service
//	…
//	z.Await(ctx, "/results/1") // it has done the job
//	z.CheckData("/results/1", "done")
//
// [Server.Tree] returns the tree as JSON Lines; [WithTree] and [Server.Load] accept one.
// [Server.Journal] lists every request with its result, for assertions. [Server.Dump] prints the
// whole state for humans; it is logged when a test has failed.
//
// # Versions
//
// A server emulates ZooKeeper 3.9.6, unless [WithVersion], or the environment variable
// ZKTEST_VERSION, says "3.9.2", "3.8.4" or "3.8.0". Clients can see these differences:
//
//	since 3.8.4   exists is refused (NoAuth) where the client may not read the znode (ZOOKEEPER-2590); create2
//	              within a multi is answered with a stat, and bad flags fail the whole multi with MarshallingError (ZOOKEEPER-4026)
//	since 3.9.2   a write that can't be read takes no zxid; a client's watches of different modes
//	              on one path stand side by side, and checkWatches and removeWatches tell its own
//	              apart by kind, of which 4 and 5 are new (ZOOKEEPER-4466, 4471, 4472, 4475); an
//	              event says which transaction it tells of (ZOOKEEPER-4655). A check outside a
//	              multi is an unknown request, which ends the connection, as since 3.9.3
//	              (ZOOKEEPER-2623)
//	since 3.9.6   an ACL of scheme "ip" may name IPv6 addresses; a client that sets its watches
//	              again is told what it missed only of what it may read; a deleteContainer ends
//	              the connection
//
// # Fidelity
//
// Tests send the same requests to this server and to a real one, in lock step, and compare every
// reply, every event, every zxid and the whole tree, field by field. They do so for each emulated
// version (3.8.0 in continuous integration; 3.9.3 and 3.9.6 were compared by hand): random
// operations from several sessions, one by one and concurrently; identical garbage; handshakes;
// reconnection; sessions that move among three servers; frames at the size limit; containers and
// TTLs; and the end of the sequence counter.
//
//	operation                      as the real server, and
//	create, create2                ACLs (world, auth, digest, ip), sequence numbers and their end, paths refused, modes contradicting the operation
//	createContainer, createTTL     containers and TTL znodes go at the same conditions; WithContainerCheck says when it is looked
//	delete, deleteContainer        clients may not send the latter
//	exists, getData                exists leaves its watch also where there is nothing
//	setData, setACL, getACL        digests are masked for those who may not administer
//	getChildren, getChildren2      always in the same order, where Java's hash sets have another
//	getAllChildrenNumber,          getEphemerals in the order of creation
//	  getEphemerals, whoAmI
//	check, multi, multiRead        errors inside a multi; one zxid, also if it fails
//	sync                           at a follower shows what was committed on any server; the leader shows what it has: see Lag
//	addWatch, removeWatches,       persistent and recursive; one watch a path and connection, whose last mode counts; checkWatches doesn't look
//	  checkWatches                 whose it is: both as in 3.8
//	setWatches, setWatches2        what was missed is told, the rest is armed
//	setAuth                        digest (with a super user, WithSuper) and ip; another scheme ends the connection
//	sasl, reconfig                 answered as by a server on which they are not set up
//	ping, closeSession             a session can be closed through a connection that it has left
//	the handshake                  timeouts, passwords, moved sessions, a client that has seen more; the read-only flag is read and not needed
//	ruok srvr stat mntr cons       every line, of servers with peers and without, but of mntr's keys only those for which there is something to count;
//	  conf dump wchp wchs envi isro  all are allowed, and there are no others. In envi, lines about Java say <NA>
//
// Known differences:
//
//   - A session's ephemeral znodes are deleted in the order of their creation; the real server has
//     no defined order. Nor has it one for a client's identities (whoAmI, "auth" in an ACL): here
//     they come in the order in which they were added.
//   - A successful check outside a multi is answered, where 3.8.0 stops answering, for that request
//     and all behind it.
//   - createTTL with a mode that has no TTL and a negative TTL is refused, where 3.8.0 crashes. Nor
//     do watches on null confuse this server, as they do the real one.
//   - Quotas are not counted: what a client writes below /zookeeper/quota are znodes like others.
//   - Requests are carried out one after the other. The real server validates some while others are
//     still in flight. Then it misses their setACL, goes by the flags of a create that contradict
//     its operation, and sees what failed multis leave at the end of the sequence counter.
//   - Of several servers one reports itself as the leader: the last one that is in touch with the
//     others, and another one in its place when it no longer is. It serves its clients as the
//     others do, but for syncs (see Lag): a real leader hears of its own sessions without a delay,
//     and also refuses the reads of a session that has moved away. The servers have no membership
//     to show (conf, /zookeeper/config), and notice at once when one is killed, stopped or
//     isolated. Elections take no time without [WithElection]. If one of two servers is stopped or
//     isolated, not killed, the other goes on serving; two real ones would both stop.
//   - mntr has no times except those that requests have waited.
//   - A multiRead whose answer is larger than 16 packets of the largest size ends the connection.
//   - There is no SASL, no admin server, no metrics exporter, no reconfig, no observer, and no disk.
//     TLS asks clients for no certificate ([Server.StartTLS]).
//
// # Which file for which task
//
//	server.go, option.go  the server, its addresses and options
//	fault.go              faults of sessions, machines and servers
//	intercept.go          requests as a test sees them, and the journal
//	state.go              sessions, the tree as text, Dump; clients refused, TLS, Reset, FastForward
//	znodes.go, await.go   single znodes; waits and checks
//	participant.go        sessions of others
package zktest
