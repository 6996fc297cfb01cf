// Package zktest is an in-process ZooKeeper for tests: a server that speaks the client protocol of ZooKeeper 3.8 so faithfully that no client can
// tell, whose faults and clock a test commands.
//
//	func TestMyService(t *testing.T) {
//		server := zktest.Start(t)            // closed with the test
//		service := New(server.Servers())     // TCP on 127.0.0.1
//		…
//		server.Expire(service.SessionID())   // and now?
//	}
//
// It is one process that keeps everything in memory: for tests, demonstrations and development, not for data. A server that nobody uses has no
// goroutine and no socket, starts in microseconds and takes some kilobytes.
//
// # Time
//
// The clock is that of package time. Inside a testing/synctest bubble it is virtual, if clients connect in memory: with [Server.Dialer] and the
// addresses of [Server.Hosts]. A session then expires at an exact instant, in no real time at all. Sessions end at ticks (2 seconds by default, see
// [WithTick]), counted from the server's start: one that was heard of last at t ends at the first tick later than t plus its timeout.
// [Server.Session] says when that is. With [WithServers] the servers pass on what they hear of sessions twice a tick, and what was not passed on
// doesn't count, as in an ensemble.
//
// # Faults
//
//	Expire, ExpireSilently         a session ends
//	Disconnect                     a connection ends
//	Partition, PartitionOneWay     a session's packets vanish, silently
//	Host(name).Partition           everything from one machine does
//	Isolate, IsolateServer         a server has lost its leader, and its clients don't notice
//	Stop, Continue                 a server hangs
//	Kill, Restart, LoseSessions    a server dies, comes back, has forgotten
//	Lag                            a server shows what was
//	Intercept                      a request or its answer is dropped, delayed, refused, cut off
//	SetSequence, SetZxid           counters stand where it gets interesting
//
// [Server.Journal] has every request with what came of it, for assertions; [Server.Dump] shows the tree.
//
// # Fidelity
//
// A differential test sends the same random operations, and the same garbage, to this server and to a real one of version 3.8.0, in lock step, and
// compares every answer, every event, every zxid and the whole tree, field by field.
//
//	operation                                    remarks
//	create, create2, createContainer, createTTL  flags decide inside a multi, the operation outside, as there
//	delete, setData, setACL, check, multi        failures too use up a zxid
//	exists, getData, getACL, sync                digests are masked for those who may not administer
//	getChildren, getChildren2                    always in the same order, not that of Java's hash sets
//	multiRead, getEphemerals,                    getEphemerals in the order of creation
//	  getAllChildrenNumber, whoAmI
//	setWatches, setWatches2, addWatch,           one watch a path and connection, whose last mode counts;
//	  checkWatches, removeWatches                checkWatches doesn't look whose it is: both as in 3.8
//	setAuth                                      schemes digest and ip
//	sasl, reconfig                               answered as by a server on which they are not set up
//	ping, closeSession, the handshake            the read-only flag is read and not needed
//	ruok srvr stat mntr cons wchs wchp wchc      all are allowed; mntr has the main numbers, conf and envi what there is
//	  dump conf envi isro crst srst
//
// Known differences: a session's ephemerals are deleted in the order of their creation, where the real server has none. A successful check outside a
// multi is answered, where 3.8.0 falls silent. createTTL with a mode that has no TTL is refused, where 3.8.0 dies of a negative one. Quotas are not
// enforced. What several requests in flight see of each other's failures in a multi at the end of the sequence counter is not imitated. There is no
// TLS, no SASL and no admin server.
package zktest
