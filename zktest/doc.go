// Package zktest is an in-process ZooKeeper for tests: a server that speaks the client protocol of
// ZooKeeper 3.8 and 3.9 so faithfully that no client can tell, whose faults and clock a test
// commands.
//
//	func TestMyService(t *testing.T) {
//		server := zktest.Start(t)            // closed with the test
//		service := New(server.Servers())     // TCP on 127.0.0.1
//		…
//		server.Expire(service.SessionID())   // and now?
//	}
//
// It is one process that keeps everything in memory: for tests, demonstrations and development, not
// for data. A server that nobody uses has no goroutine and no socket, starts in microseconds and
// takes some kilobytes.
//
// # Time
//
// The clock is that of package time. Inside a testing/synctest bubble it is virtual, if clients
// connect in memory: with [Server.Dialer] and the addresses of [Server.Hosts]. A session then
// expires at an exact instant, in no real time at all. Sessions end at ticks (2 seconds by default,
// see [WithTick]), counted from the server's start: one that was heard of last at t ends at the
// first tick later than t plus its timeout. [Server.Session] says when that is. With [WithServers]
// the servers pass on what they hear of sessions twice a tick, and what was not passed on doesn't
// count, as in an ensemble.
//
// # Faults
//
//	Expire, ExpireSilently         a session ends
//	Disconnect                     a connection ends
//	Slow, SlowServer, Host.Slow    a way has a latency and a bandwidth
//	Partition, PartitionOneWay     a session's packets vanish, silently
//	Host(name).Partition           everything from one machine does
//	Isolate, IsolateServer         a server has lost its leader, and its clients don't notice
//	Stop, Continue                 a server hangs
//	Kill, Restart, LoseSessions    a server dies, comes back, has forgotten
//	Lag                            a server shows what was
//	Intercept                      a request or its answer is dropped, delayed, refused, cut off
//	SetSequence, SetZxid           counters stand where it gets interesting
//
// [Server.Journal] has every request with what came of it, for assertions; [Server.Tree] is the
// tree as YAML, and [WithTree] and [Server.Load] take one; [Server.Create], Get, Set, Delete and
// Children need no client; [Server.Dump] shows everything, to a human.
//
// # Versions
//
// A server answers as ZooKeeper 3.9.6, unless [WithVersion], or the environment variable
// ZKTEST_VERSION, says "3.9.2", "3.8.4" or "3.8.0". What a client can tell them by:
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
// Tests send the same to this server and to a real one, whatever version it says that it is (3.8.0
// in continuous integration; 3.9.3 and 3.9.6 were tried by hand), in lock step, and compare every
// answer, every event, every zxid and the whole tree, field by field: random operations from
// several sessions, one by one and in flight together; the same garbage; handshakes; reconnection;
// sessions that move among three servers; frames at the limit; containers and TTLs; and the end of
// the sequence counter.
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
//	sync                           shows what was committed on whichever server
//	addWatch, removeWatches,       persistent and recursive; one watch a path and connection, whose last mode counts; checkWatches doesn't look
//	  checkWatches                 whose it is: both as in 3.8
//	setWatches, setWatches2        what was missed is told, the rest is armed
//	setAuth                        digest (with a super user, WithSuper) and ip; another scheme ends the connection
//	sasl, reconfig                 answered as by a server on which they are not set up
//	ping, closeSession             a session can be closed through a connection that it has left
//	the handshake                  timeouts, passwords, moved sessions, a client that has seen more; the read-only flag is read and not needed
//	quotas                         counted; not enforced, which is the real server's default too (`troupe server --enforce-quotas` does)
//	ruok isro srvr stat mntr cons  every line, every key of mntr, of servers with peers and without; what there is nothing to count for is 0, and Java's
//	  wchs wchp wchc dump conf       own keys of envi are missing; all are allowed
//	  envi dirs crst srst
//
// Known differences:
//
//   - A session's ephemerals are deleted in the order of their creation; the real server has none.
//   - A successful check outside a multi is answered, where 3.8.0 falls silent, for that request
//     and all behind it.
//   - createTTL with a mode that has no TTL and a negative one is refused, where 3.8.0 dies of it;
//     and a few malformed requests that confuse it, do not confuse this server: watches on null,
//     accounts of quotas that are none.
//   - Requests are carried out one after the other. The real server judges some while others are
//     still in flight, and then doesn't see their setACL, goes by the flags of a create that
//     contradict its operation, and sees what failed multis leave at the end of the sequence
//     counter.
//   - Of several servers one says that it leads, the last that is in touch with the others, and
//     another in its place if it isn't any more. It serves its clients as the others do: a real
//     leader hears of its own sessions without a delay, and refuses also the reads of a session
//     that has moved away. They have no membership to show (conf, /zookeeper/config), and notice at
//     once who is killed, stopped or isolated. Elections take no time unless [WithElection] says
//     so; and of two servers one that is stopped or isolated, not killed, leaves the other serving,
//     where two real ones would both stop.
//   - mntr counts no time but what requests have waited, proposals without their sizes, and no more
//     than 16,384 namespaces (zk_…_per_namespace).
//   - There is no TLS, no SASL, no admin server, no exporter of metrics, no reconfig, no observer,
//     and no disk (but for `troupe server --data`).
package zktest
