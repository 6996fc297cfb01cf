// Package work has the workloads of a chaos run's worker processes. They use Troupe's recipes as an
// application would, and record only facts that they can be certain of.
package work
