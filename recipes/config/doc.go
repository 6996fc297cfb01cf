// Package config keeps one value in ZooKeeper that many processes share: typed, watched, changed by
// compare-and-set.
//
//	limits, err := config.Open(ctx, sess, "/app/limits", config.JSON[Limits]())
//	…
//	defer limits.Close(ctx)
//	now := limits.Load().Value                   // at once, from memory
//	for s := range limits.Observe(ctx) { … }     // the present state, and then each newer one
//	_, err = limits.Update(ctx, func(l Limits) (Limits, error) { l.Rate *= 2; return l, nil })
//	s, err := limits.Await(ctx)                  // the rendezvous: until somebody has written a first value
//
// # What it guarantees
//
//   - A [Cell] follows the znode through disconnections and expiries, its deletion and its creation
//     anew. States never go back, and the last one is never left out.
//   - Data that can't be decoded do not replace a good value: [Snapshot.Value] stays the last good
//     one, and [Snapshot.Err] says what is wrong.
//   - [Cell.Update] never overwrites what its function has not seen. What is written is what the
//     function made of what stood there.
//   - A value that was deleted and written anew counts as another, whatever its version: it is the
//     Czxid and the Mzxid that tell.
//
// What it does not: a process that is cut off goes on with the last value it saw, and says so
// ([Snapshot.Stale]). Two processes see a change at different moments; where that matters, it is a
// lock that is needed, or two-phase commit.
//
// # The states of a snapshot
//
//	              good data                 data that can't be decoded
//	┌────────┐ ─────────────▶ ┌─────────┐ ─────────────▶ ┌─────────────────────────┐
//	│ absent │                │ present │                │ present, Err: the value │
//	└────────┘ ◀───────────── └─────────┘ ◀───────────── │ is the last good one    │
//	    ▲        deleted                     good data   └─────────────────────────┘
//	    └────────────────────────────────────────────────────┘ deleted
//
// and any of them is Stale while the connection is down.
package config
