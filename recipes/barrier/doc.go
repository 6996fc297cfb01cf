// Package barrier makes processes wait: all of them for one event ([Barrier]), or each for all the
// others ([Double]).
//
//	gate, err := barrier.New(sess, "/gates/migration")
//	…
//	err = gate.Raise(ctx) // from now on Wait blocks
//	…
//	err = gate.Lower(ctx) // and now it returns
//
//	work, err := barrier.NewDouble(sess, "/rounds/batch", 3)
//	…
//	passage, err := work.Enter(ctx) // returns when three have arrived
//	compute(passage.Context())
//	err = passage.Leave(ctx) // returns when all three are done
//
// # What a double barrier guarantees
//
//   - Rounds. One transaction in ZooKeeper opens a round; it checks that each of its parties is
//     present at that instant. No party enters before the agreed number is present; a party that
//     died earlier does not count.
//   - One result. All parties that are in a round when it is decided learn the same result: all
//     enter, with the same [Passage.Round] and [Passage.Members], or all get [ErrBroken]. A slow
//     party learns it too, even if the others have left already.
//   - No [Passage.Left] closes while a live party is inside. A party that dies inside does not
//     block the others.
//   - A party that gives up, or dies, before the round is decided is withdrawn; the others go on
//     waiting. If the decision came first, the party is in, and leaves at once. But if it has
//     called Enter or Arrive again by then, the new call takes over its position.
//   - Live processes with one name ([WithName]) are never inside together.
//   - The next round begins where the last one ended. Nothing polls.
//
// Only three things break a round: [Double.Break], parties that disagree about their number
// ([ErrDiffering]), and more parties than that ([ErrCrowd]). A party that arrives during a round,
// with all its parties inside, gets ErrCrowd alone, and the round goes on.
//
// # The states of a party
//
//	         Arrive, Enter              all parties present
//	┌──────┐ ────────────▶ ┌─────────┐ ───────────────────────▶ ┌────────┐
//	│ Idle │ ◀──────────── │ Waiting │                          │ Inside │
//	└──────┘  ctx, broken  └─────────┘ ◀── own znode gone,      └────────┘
//	    ▲                       ▲           expiry: again           │ Depart, or lost
//	    │                       └──── Arrive, Enter ────┐           ▼
//	    │   the last one has departed, or died          │      ┌─────────┐
//	    └───────────────────────────────────────────────┴───── │ Leaving │
//	                            Left closes                    └─────────┘
//
// # Failure
//
// A waiting party keeps its position across any disconnection shorter than its session; after an
// expiry it arrives again. A [Passage] is a possession like any other (package session): it is lost
// when the session can no longer prove that it is alive. A party that lost its passage counts as
// departed. If a passage is lost before it was received, the same intent enters another round.
//
// If another client deletes parts of an open round, the parties create them again. Delete nothing
// of a released round but znodes of parties, and a whole double barrier only when no process that
// uses it is alive.
//
// # Which file for which task
//
//	barrier.go   Barrier; the errors
//	double.go    Double, as its callers see it, with Close and Break
//	intents.go   what the application has asked a Double for; the machine's effects
//	passage.go   Passage: Depart, Left, Leave
//	option.go    all options
//	internal/    double is the machine of a party of a double barrier
package barrier
