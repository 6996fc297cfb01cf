// Command chaos runs Troupe on a real ensemble of ZooKeeper servers under random faults, and checks
// the workers' histories.
//
//	go run ./test/chaos -duration 2m -seed 7 -work lock,election
//
// It starts three servers, a proxy on each way from a worker to a server, and worker processes,
// which are this program again. Faults are drawn from the seed: the same seed makes the same
// schedule. Workers write histories, which are checked at the end. The exit code is 1 after a
// violation.
//
// Package internal/check defines possessions, and when two of them overlap.
package main
