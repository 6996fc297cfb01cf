// Package recipetest tests recipes' machines: with golden traces, against a declared table of
// transitions ([Table]), and in a [World] of many of them over ZooKeeper's data tree, where
// everything that may happen happens in an order that the test chooses, or that is drawn at random
// ([Schedules]).
//
// A golden trace is a story: what happens to a machine, and what it does. It is written as a file,
// in the words of a [Dialect], or told by Go code with the machine's own events ([Trace]). With
// go test -recipetest.rewrite, what the machine does is written into testdata.
//
// A world has no clock, no network and no goroutine. Each [Actor] stands for a process of its own
// with a session of its own. [World.Step] lets one thing happen, chosen among all that can: a
// request is carried out, an answer or a watch's event is delivered, a timer goes off. In between,
// the test lets the worse happen: [Actor.Disconnect], [Actor.Distrust], [Actor.Expire],
// [Actor.Crash], [Actor.Kill], [World.Bar]. With a chooser that draws from pgregory.net/rapid, a
// failure shrinks to a short story.
//
// What the world keeps to is what package recipe promises: requests are carried out in any order;
// answers overtake one another, but no event comes before the answer of the read that armed its
// watch; a lost connection leaves reads to be asked again and makes writes of unknown outcome,
// carried out or not; what a crashed machine had under way may still happen; a possession ends
// before its session does.
package recipetest
