// Package interop shows that Troupe and its in-process server work with the clients of others: its
// tests drive ZooKeeper's own Java client and recipes, Curator, kazoo and the C client, from
// Debian's packages, on a real server and, in soak, on zktest's.
//
// They show that Troupe's recipes share a path with theirs: never two holders, never a queue that
// is stuck. docs/interop.md has the table of the combinations.
//
// The package itself only finds the clients. `make deps` installs them.
//
//   - queues_test.go: locks and elections; shared_test.go: shared locks, and locks that are one znode
//   - moving_test.go: the items of other libraries' queues; servers_test.go: servers, and what the clients ask of zktest's
//   - guard_test.go: promises about contenders; contenders_test.go: contenders of ours and of theirs
//   - driver_test.go: the processes that speak for other libraries, whose programs are in testdata
package interop
