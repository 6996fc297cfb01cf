// Package faults makes a schedule of faults from a seed, and carries it out. The schedule is a pure
// function of the seed and the plan: the same seed gives the same faults at the same offsets. What
// they hit may differ where the target is "the leader", and what comes of them always may.
//
// Faults overlap. They come in storms; behind each there is a calm, in which everything is healed
// and everything has to move again.
package faults
