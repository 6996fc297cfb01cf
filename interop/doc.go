// Package interop shows that Troupe and its in-process server work with the clients of others: its
// tests drive ZooKeeper's own Java client and recipes, Curator, kazoo and the C client, from
// Debian's packages, on a real server and, in soak, on zktest's.
//
// They show that Troupe's recipes share a path with theirs: never two holders, never a queue that
// is stuck. docs/interop.md has the table of the combinations.
//
// The package itself only finds the clients. `make deps` installs them.
package interop
