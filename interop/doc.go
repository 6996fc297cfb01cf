// Package interop shows that Troupe and its in-process server live with the clients of others: its
// tests drive ZooKeeper's own Java client and recipes, zkCli.sh, Curator, kazoo and the C client,
// from Debian's packages, on zktest's server and on a real one.
//
// They show two things. One server is like the other: each client plays the same script on both,
// and gets the same answers and events (testdata/scripts). And Troupe's recipes hold together with
// theirs on the same path: never two holders, never a line that is stuck. docs/interop.md has the
// table of what can stand beside what.
//
// The package itself only finds the clients. `make deps` installs them.
package interop
