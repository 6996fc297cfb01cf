// Command chaos runs Troupe on a real ensemble of ZooKeeper servers under random faults, and checks
// the workers' histories.
//
//	go run -tags chaos ./test/chaos -duration 2m -seed 7 -work lock,election
//
// It starts three servers, a proxy on each way from a worker to a server, and worker processes,
// which are this program again. Faults are drawn from the seed: the same seed makes the same
// schedule. Workers write histories, which are checked at the end. The exit code is 1 after a
// violation (with -expect, without one) and 2 after an error. Without the tag no actor panics.
//
//   - a workload, or a fact that workers record: internal/work, internal/history
//   - a fault, or when it comes: internal/faults
//   - what is a violation, and when two possessions overlap: internal/check
//   - the servers' own losses: internal/memory
//   - the life of servers, proxies and workers, and the report: internal/run
package main
