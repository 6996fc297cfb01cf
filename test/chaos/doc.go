// Command chaos tries Troupe on a real ensemble of ZooKeeper servers under random faults, and
// checks what came of it.
//
//	go run ./test/chaos -duration 2m -seed 7 -work lock,election
//
// It starts three servers, a proxy on each way from a worker to a server, and worker processes,
// which are this program again. Faults are drawn from the seed: the same seed makes the same
// schedule. Workers write histories; when all is over they are checked. The exit code is 1 if
// anything was violated.
//
// What counts as a possession, and when two of them overlap, is said in internal/check.
package main
