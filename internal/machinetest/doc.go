// Package machinetest tests the machines that speak the vocabulary of package machine, as
// recipe/recipetest does for those of package recipe: with golden traces that read as stories
// ([Dialect]), against a declared table of transitions ([Table]), and in random schedules
// ([Schedules]). A machine whose sessions carry their requests out in order can be put into a
// [World] of many, around a tree of its own ([Tree]).
//
// A story is a file of blocks: events, a line of dashes, and what the machine does. Lines that
// begin with "#" are prose.
package machinetest

// T are the few methods of testing.T that are needed here.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}
