// Package barrier makes processes wait: all of them for one ([Barrier]), or each for all the others
// ([Double]).
//
//	gate, err := barrier.New(sess, "/gates/migration")
//	…
//	err = gate.Raise(ctx)   // whoever calls Wait now waits
//	…
//	err = gate.Lower(ctx)   // and goes on
//
//	work, err := barrier.NewDouble(sess, "/rounds/batch", 3)
//	…
//	passage, err := work.Enter(ctx) // returns when three are there
//	compute(passage.Context())
//	err = passage.Leave(ctx)        // returns when all three are done
//
// # What a double barrier guarantees
//
//   - Rounds. A round is opened by one transaction in ZooKeeper, which checks that each of its
//     parties stands there at that instant. Before as many parties as agreed stand, nobody enters;
//     a party that died before does not count.
//   - One verdict. All who stand in a round when it is decided get the same: everyone enters, with
//     the same [Passage.Round] and [Passage.Members], or everyone gets [ErrBroken]. A slow one gets
//     it too, however fast the others have left.
//   - Nobody's [Passage.Left] closes while a living party is inside. One that dies inside does not
//     hold the others.
//   - A party that gives up, or dies, before the round is decided withdraws: the others go on
//     waiting. If the verdict was first, it is in, and leaves at once; unless it has asked again
//     meanwhile: that call takes the place over.
//   - The next round begins where the last one ended. Nothing polls.
//
// A round is broken by three things alone: [Double.Break], parties that differ in how many they are
// to be ([ErrDiffering]), and more parties than that ([ErrCrowd]). One that comes while a round
// goes on, with all its parties inside, gets ErrCrowd by itself, and the round goes on.
//
// # The states of a party
//
//	         Arrive, Enter              as many as agreed stand
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
// A party that waits keeps its place across any disconnection shorter than its session, and after
// an expiry it stands again. A [Passage] is a possession like any other (package session): it is
// lost when the session can no longer vouch for it. A party that lost it counts as one that
// departed. A passage that was lost before anybody received it is followed by another round for the
// same wish.
package barrier
