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

// Standing is where an instance stands.
type Standing struct {
	Phase Phase
	Ahead int  // contenders before the own one at the last look; those that conflict
	Stale bool // the connection is down, or trust is: what is said was true when last seen
}

// Phase is the coarse state that the application sees.
type Phase int

// The phases, in the order in which they mostly come.
const (
	Idle        Phase = iota // nothing is wanted
	Offering                 // wanted; the own znode is being made, or there is no epoch to make it in
	Determining              // the znode stands; its place is being looked up
	Waiting                  // somebody is ahead, and watched
	Holding                  // the thing is held
)

var phases = [...]string{Idle: "idle", Offering: "offering", Determining: "determining", Waiting: "waiting", Holding: "holding"}

// String names the phase as the live tree and the golden traces show it.
func (p Phase) String() string {
	if p < 0 || int(p) >= len(phases) {
		return "unknown"
	}
	return phases[p]
}

// Enter makes an ephemeral sequential znode, with a listing right behind it that is
// answered by Listed with the number Ask. If Replace is not empty, that own znode, whose possession
// is over, is deleted in the same transaction.
type Enter struct {
	Epoch   uint64
	Replace string
	Ask     uint64
}

// Entered answers [Enter]: the own znode's path, or a definite error with nothing left behind.
// Czxid and Owner are what the create's own answer told of the znode; 0 when it was not told: an
// old server, a lost answer, a znode that was replaced.
type Entered struct {
	Epoch uint64
	Path  string
	Czxid int64
	Owner int64
	Err   error
}

// Downgrade puts a reader's znode into the place in line of an own one, which is deleted in the
// same transaction. Token is what that place was taken with.
type Downgrade struct {
	Epoch uint64
	Path  string // of the writer's
	Token int64
}

// Downgraded answers [Downgrade]. Gone tells that the znode at Path was not there any more; with
// that, and with Err, which is definite, nothing was done.
type Downgraded struct {
	Epoch uint64
	Path  string // of the writer's
	New   string // of the reader's
	Gone  bool
	Err   error
}

// Record writes a token into the record beside the contenders, in a transaction that happens only
// while the own znode stands: in the place of what the record contained when it had that version,
// or, with version -1, where there is none.
type Record struct {
	Epoch   uint64
	Ask     uint64
	Path    string // path of the own znode
	Token   int64
	Version int32
	Delay   int64 // how long it is waited after another's token, in milliseconds: noted there; 0: it is not waited
}

// Recorded answers [Record] with what the record contains then: the token, if it was written. 0:
// there is none, or it makes no sense.
type Recorded struct {
	Epoch   uint64
	Ask     uint64
	Token   int64
	Version int32 // of the record, -1 if there is none
	Err     error // definite
}

// Release is [Remove] for a possession that was given up: the record goes in the same transaction.
type Release struct {
	Epoch uint64
	Path  string
}
