// Package config keeps one typed value in ZooKeeper that many processes share. Each process has it
// in memory, follows its changes, and changes it by compare-and-set.
//
//	limits, err := config.Open(ctx, sess, "/app/limits", config.JSON[Limits]())
//	…
//	defer limits.Close(ctx)
//	rate := limits.Load().Value.Rate // from memory
//	states := limits.Observe(ctx)    // the current state, then each newer one
//	s, err := limits.Await(ctx)      // the rendezvous: waits for a first valid value
//	s, err = limits.Update(ctx, func(l Limits) (Limits, error) { return Limits{Rate: 2 * l.Rate}, nil })
//
// # What it guarantees
//
//   - A [Cell] follows the znode through disconnections and expiries, deletion and re-creation.
//     States never go back, and the last one is always delivered.
//   - Data that can't be decoded do not replace a valid value: [Snapshot.Value] stays the last
//     valid one, and [Snapshot.Err] says what is wrong.
//   - [Cell.Update] never overwrites a value that its function has not seen. It writes the result
//     of the function for the value that it replaces.
//   - A value that was deleted and created again counts as a different one, even at the same version:
//     the Czxid and the Mzxid tell.
//
// A process that is cut off keeps the last value it saw, and reports it as stale
// ([Snapshot.Stale]). Two processes see a change at different moments; where that matters, use a
// lock or two-phase commit.
//
// # The states of a snapshot
//
//	              valid data                data that can't be decoded
//	┌────────┐ ─────────────▶ ┌─────────┐ ─────────────▶ ┌─────────────────────────┐
//	│ absent │                │ present │                │ present, Err: the value │
//	└────────┘ ◀───────────── └─────────┘ ◀───────────── │ is the last valid one   │
//	    ▲        deleted                     valid data  └─────────────────────────┘
//	    └────────────────────────────────────────────────────┘ deleted
//
// Each of them is Stale while the connection is down.
package config
