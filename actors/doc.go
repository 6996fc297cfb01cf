// Package actors is what an actor is in Troupe: state that one goroutine at a time works on, fed by
// messages, made anew when it panics, in a tree that can be looked at and stopped. It is the one
// package that knows the actor library underneath.
//
//	ref, err := actors.Spawn(system.Scope(), actors.Spec[message]{
//		Name: "orders", Kind: "counter",
//		New: func(self actors.Self[message]) actors.Receiver[message] { return &counter{self: self} },
//	})
//	ref.Tell(increment{})
//	total, err := actors.Ask(ctx, ref, func(reply func(int)) message { return howMany{reply} })
//
// # What holds
//
//   - What one goroutine tells an actor arrives in that order, one message at a time. Tell never
//     waits. An actor without messages has no goroutine.
//   - Stopping an actor or a group stops everything below it first. Ended has returned when Done
//     closes. What was not received by then is dropped.
//   - A goroutine, a timer or a channel of an actor outlives neither it nor System.Close: the last
//     of them is on its way out when Done closes.
//   - Nothing is written anywhere but to the logger that was given.
//
// # Failure
//
// An expected failure is a value: it goes into a message. A panic, or a runtime.Goexit, is a bug,
// and restarts that one actor. The message that panicked is gone; those behind it wait. The old
// incarnation's Stopping is called, everything below it is stopped, and after a pause, which grows
// from panic to panic and is jittered, Spec.New makes the next one. Its own panics count too. After
// too many in too short a time the actor is given up and its Spec.Ended told why; nothing else is
// touched.
//
// # The life of an actor
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
package actors
