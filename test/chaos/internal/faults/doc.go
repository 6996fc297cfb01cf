// Package faults makes a schedule of faults from a seed, and carries it out. The schedule is a pure
// function of the seed and the plan: the same seed gives the same faults at the same offsets. The
// server that is hit may differ where the target is "the leader". The effects may always differ.
//
// Faults overlap. They come in storms. Behind each there is a calm: all faults are healed, and all
// workloads have to make progress again.
package faults
