package machine

import "errors"

// ErrHeld refuses a Try claim: somebody is ahead.
var ErrHeld = errors.New("somebody is ahead")

// Claim names one wish to have the thing: of the standing intent or of one caller. The host hands
// out each number once, from 1 on.
type Claim uint64

// Wanted: a claim joins those of the instance. Once means that the claim is over when its
// possession ends; otherwise it stands again. Try means that the claim is to be refused with
// [ErrHeld] as soon as anybody is known to be ahead of it.
type Wanted struct {
	Claim Claim
	Once  bool
	Try   bool
}

// Withdrawn: a claim is no longer wanted, whether it waits or holds. It is answered with [Settle]
// when nothing of it is left in ZooKeeper. Lost tells that its possession had ended by itself
// before: this is the word of that, too, and no HoldEnded comes.
type Withdrawn struct {
	Claim Claim
	Lost  bool
}

// Released: the possession of a claim was given up (its hold has ended already). A claim that is
// not Once stands again behind the others. It is answered with [Freed] when the znode is gone.
type Released struct{ Claim Claim }

// HoldEnded: the possession of a claim has ended by itself: trust ran out, or the host could not
// establish or deliver it.
type HoldEnded struct{ Claim Claim }

// Deferred: the host could not turn a [Grant] into a possession because the session is not trusted
// at this instant. TrustGained follows.
type Deferred struct{ Claim Claim }

// DowngradeWanted: the holder of a claim goes on as a reader; its hold as a writer has ended
// already. It is answered by another [Grant] of the claim, or by what ends a possession: [End],
// [Freed], [Settle].
type DowngradeWanted struct{ Claim Claim }

// Grant turns the own znode, whose turn it is, into a possession of the claim. The host answers at
// once, in the same turn, with Deferred if the session is not trusted; HoldEnded follows whenever
// the possession ends by itself.
type Grant struct {
	Epoch uint64
	Claim Claim
	Path  string
	Token int64
}

// End ends the possession of a claim.
type End struct {
	Claim Claim
	Cause Cause
	Err   error // of EndUnwatched
}

// Cause says why a machine ends a possession.
type Cause int

// Why a machine ends one.
const (
	EndDeleted   Cause = iota + 1 // somebody deleted the own znode
	EndExpired                    // the epoch is over
	EndUnwatched                  // the own znode can't be read, so that nobody would tell when it goes; it is being deleted
)

// Revoked tells the holder of a claim that it is asked to give up.
type Revoked struct{ Claim Claim }

// Freed answers Released: the znode of that possession is gone.
type Freed struct{ Claim Claim }

// Settle ends a claim for good: withdrawn and gone (Err nil), refused ([ErrHeld]), or failed with a
// definite error.
type Settle struct {
	Claim Claim
	Err   error
}

// Publish tells the world where the instance stands.
type Publish struct{ Standing Standing }
