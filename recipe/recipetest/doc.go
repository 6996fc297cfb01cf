// Package recipetest tests recipes' machines: with golden traces, against a declared table of
// transitions ([Table]), and in a [World] of many machines over ZooKeeper's data tree, where things
// happen in an order that the test chooses, or that is drawn at random ([Schedules]). It is outside
// the promise of 1.0: a minor version may change it.
//
// A golden trace, or story, is the events of a machine and its effects. There are two ways to write
// one: as a text file, or in Go with [Trace]. With go test -recipetest.rewrite, the effects are
// written into testdata.
//
// A story in a text file has a verb and some words for each event. Five types parse it and run it:
//
//   - [Dialect] is the format of the stories of one machine: its folder, its own verbs, its paths.
//   - [Words] are the words of a line behind its verb.
//   - [Teller] makes an event of each line, passes it to the machine, and writes the effects.
//   - [Subject] is the machine of a story, with the names of its states.
//   - [Steps] are the changes of state that it took, which the Table has to declare.
//
// A world has no clock, no network and no goroutine. Each [Actor] is a process of its own with a
// session of its own; a [Player] describes it. [World.Step] lets one thing happen, chosen among all
// that can: a request is carried out, an answer or a watch's event is delivered, a timer goes off.
// In between, the test lets faults happen: [Actor.Disconnect], [Actor.Distrust], [Actor.Expire],
// [Actor.Crash], [Actor.Kill], [World.Bar]. With a chooser that draws from pgregory.net/rapid, a
// failure shrinks to a short story.
//
// The world promises the same as package recipe. Requests are carried out in any order. Answers
// overtake one another, but no event comes before the answer to the read that armed its watch.
// After a lost connection reads are asked again, and writes have an unknown outcome, carried out or
// not. The pending requests of a crashed machine may still be carried out. A possession ends before
// its session does.
//
// # Which file for which task
//
//   - story.go, teller.go: stories in text files: their format; between lines, events and effects
//   - trace.go, table.go: stories in Go, golden files; the table of transitions
//   - schedule.go: random schedules, and how to run one again
//   - world.go, actor.go, server.go: the world, its processes, the server's data tree
//   - fault.go: the faults of processes and sessions, and refused requests
package recipetest
