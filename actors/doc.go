// Package actors is what an actor is in Troupe: a piece of state that one goroutine at a time works on, fed by messages, restarted when it panics.
// It is the one package that knows the actor library underneath.
//
//	ref, err := actors.Spawn(system.Scope(), actors.Spec[message]{
//		Name: "counter", Kind: "example",
//		New: func(self actors.Self[message]) actors.Receiver[message] { return &counter{} },
//	})
//	ref.Tell(increment{})
//
// # What holds
//
//   - Messages of one sender arrive in the order in which they were told. Tell never waits. An actor without messages has no goroutine.
//   - A panic restarts that one actor: the message that panicked is gone, those behind it wait for the next incarnation, which Spec.New makes anew.
//     The pause before it grows exponentially and is jittered. After too many panics in too short a time the actor is given up: Spec.Ended says why.
//   - Stopping an actor or a group stops everything below it first. Ended has returned when Done closes. What was told and not received by then is dropped.
//   - Nothing is written anywhere but to the logger that was given.
//
// # The life of an actor
//
//	          New             Receive
//	Spawn ──▶ starting ─────▶ running ◀──┐
//	             ▲              │  │     │ message
//	      pause  │        panic │  └─────┘
//	             └── failed ◀───┤
//	       too many │           │ Stop
//	                ▼           ▼
//	              given up ──▶ stopped: Ended, then Done
package actors
