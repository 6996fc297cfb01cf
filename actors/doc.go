// Package actors implements supervised actors: state that one goroutine at a time works on, driven
// by messages, restarted after a panic, in a tree that can be inspected and stopped. Only this
// package imports the actor library underneath. Except for [System], [New], [WithLogger] and
// [WithRestarts], it is outside the promise of 1.0: a minor version may change it.
//
// Inside the promise of 1.0 are [System] with its Close and Done, [New], [Option], [WithLogger],
// [WithRestarts] and [Restarts]: an application uses them to have several sessions in one system,
// with a log and restarts of its own (session.WithSystem). All else is outside the promise, and may
// change in any version: it is for packages session and recipe, and for authors of recipes;
// [System.Tree] is for people to read.
//
//	ref, err := actors.Spawn(system.Scope(), actors.Spec[message]{
//		Name: "orders", Kind: "counter",
//		New: func(self actors.Self[message]) actors.Receiver[message] { return &counter{self: self} },
//	})
//	ref.Tell(increment{})
//
// # What it guarantees
//
//   - Messages that one goroutine sends to an actor arrive in order, one at a time. Tell never
//     blocks. An actor without messages has no goroutine.
//   - Stopping an actor or a group stops everything below it first. Ended has returned when Done
//     closes. Messages that were not received by then are dropped.
//   - No goroutine, timer or channel of an actor outlives the actor or System.Close: the last of
//     them is about to end when Done closes.
//   - Nothing is written except to the logger that was given.
//
// # Failure
//
// An expected failure is a value: send it in a message. A panic, or a runtime.Goexit, is a bug, and
// restarts only that actor. The message that panicked is lost; those behind it wait. The old
// incarnation's Stopping is called, everything below it is stopped, and after a pause with jitter,
// which grows from panic to panic, Spec.New creates the next incarnation. Panics of Spec.New count
// too. After too many panics in too short a time the actor is given up and its Spec.Ended gets the
// cause; no other actor is affected.
//
// # The states of an actor
//
//	Spawn ───▶ Spec.New ──────▶ running ◀──┐ message
//	            ▲   │            │ │ └─────┘
//	 pause over │   │ panic      │ │ panic
//	            │   ▼            │ ▼
//	            └─ failed ◀──────┼─┘
//	                │            │
//	       too many │ or Stop    │ Stop
//	                ▼            ▼
//	               nothing below it ──▶ Spec.Ended ──▶ Done
//
// # Which file for which task
//
//   - spawn.go, ref.go, system.go: the API; node.go: the tree, stopping, what is below an actor
//   - cell.go: an actor over its incarnations; failure.go: panics, pauses, restarts
package actors
