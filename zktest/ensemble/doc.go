// Package ensemble runs real Apache ZooKeeper servers on loopback, for tests and benchmarks. It can
// kill, pause and restart them, and cut them off from their peers or their clients.
//
//	servers := ensemble.Start(t, 3) // three servers that have elected a leader
//	sess, err := session.New(servers.Servers())
//	leader, err := servers.AwaitLeader(ctx)
//	heal := servers.Isolate(leader) // it loses its followers; its clients are still served, for a while
//
// # What it needs
//
// A Java runtime and ZooKeeper's jars: Debian's package zookeeper, or an unpacked release of
// ZooKeeper 3.6 or later that ZOOKEEPER_HOME points to. [Available] names in one line what is
// missing, and a test that calls [Start] fails with that line. To skip such a test where ZooKeeper
// is missing:
//
//	if err := ensemble.Available(); err != nil {
//		t.Skip(err)
//	}
//
// # What it guarantees
//
//   - One server serves within about half a second, three within about two.
//   - Servers keep their addresses for as long as the ensemble lives, killed and restarted too.
//     Ensembles of several processes do not interfere with one another.
//   - Nothing is left behind: servers die with the process that started them (on Linux also when it
//     is killed), files go with Close, and files of a process that could not call Close go with the
//     next ensemble that starts.
//   - No goroutine is left when Close has returned.
//
// # Timing
//
// A tick is 200 ms, a follower may lag five seconds behind (syncLimit 25), and session timeouts are
// between 400 ms and one minute. Writes are not synced to disk: they survive the death of a server,
// not that of the machine. [WithTick], [WithConfig] and [WithJVM] change these settings
// (-Dzookeeper.forceSync=yes syncs them).
//
// # Cutting servers off
//
// There is a [Proxy] between every two servers, and one in front of each server's client port.
// Sever blocks those between two servers. Isolate blocks all of a server's, silently, so the server
// goes on answering reads and pings until it notices (five seconds, by syncLimit). The proxies in
// front of client ports affect only clients that use the addresses of [Ensemble.Proxied]. On Linux,
// elections are cut off too. Elsewhere, loopback has only one address and election traffic passes,
// so an isolated leader may be elected again: isolate followers there.
//
//	clients ──→ proxy ──→ server 0 ──→ proxy ──→ server 1
//	   └─────────────────────↑  ↑────── proxy ←─────┘
//
// # Counting requests
//
// [Ensemble.Stats] reads a server's own counters, which are exact; see [Stats] for what each one
// counts.
package ensemble
