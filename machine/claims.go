package machine

import "errors"

// ErrHeld refuses a Try claim: another contender is ahead.
var ErrHeld = errors.New("held by another")

// Claim is the number of one intent to hold the thing: the standing intent, or one call. The host
// gives each number once, from 1 on.
type Claim uint64

// Wanted adds a claim to those of the instance. A claim that is Once ends with its possession; any
// other is then served again. A Try is refused with [ErrHeld] as soon as a contender is known to be
// ahead of it.
type Wanted struct {
	Claim Claim
	Once  bool
	Try   bool
}

// Withdrawn ends a claim, whether it waits or holds. It is answered with [Settle] when nothing of
// it is left in ZooKeeper. Lost tells that its possession was lost before: then no HoldEnded comes.
type Withdrawn struct {
	Claim Claim
	Lost  bool
}

// Released tells that the possession of a claim was released; its hold has ended already. A claim
// that is not Once is then served again, behind the others. It is answered with [Freed] when the
// znode is gone.
type Released struct{ Claim Claim }

// HoldEnded tells that the possession of a claim was lost: trust ran out, or the host could not
// make or deliver it.
type HoldEnded struct{ Claim Claim }

// Deferred tells that the host could not turn a [Grant] into a possession, because the session is
// not trusted at this instant. TrustGained follows.
type Deferred struct{ Claim Claim }

// DowngradeWanted makes the holder of a claim a reader; its hold as a writer has ended already. It
// is answered by another [Grant] of the claim, or by the end of the possession: [End], [Freed] or
// [Settle].
type DowngradeWanted struct{ Claim Claim }

// Grant turns the own znode into a possession of the claim. If the session is not trusted, the host
// answers with Deferred at once, in the same turn. If the possession is lost later, HoldEnded
// follows.
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

// Why a machine ends a possession.
const (
	EndDeleted   Cause = iota + 1 // another client deleted the own znode
	EndExpired                    // the epoch has ended
	EndUnwatched                  // the own znode cannot be read, so that its deletion would not be noticed; it is being deleted
)

// Revoked tells the holder of a claim that it is asked to give up.
type Revoked struct{ Claim Claim }

// Freed answers Released: the znode of that possession is gone.
type Freed struct{ Claim Claim }

// Settle ends a claim for good: it was withdrawn and its znode is gone (Err nil), or it was refused
// ([ErrHeld]), or it failed with a definite error.
type Settle struct {
	Claim Claim
	Err   error
}

// Publish tells the standing of the instance to the application.
type Publish struct{ Standing Standing }

// Standing is the state of an instance, as the application sees it.
type Standing struct {
	Phase Phase
	Ahead int  // how many contenders the instance has to wait for, by the last listing
	Stale bool // the connection is down, or the session is not trusted: Phase and Ahead are the last known ones
}

// Phase is the coarse state that the application sees.
type Phase int

// The phases, in the order in which they mostly come.
const (
	Idle        Phase = iota // there is no claim
	Offering                 // the own znode is being made, or there is no epoch to make it in
	Determining              // the znode exists; its position is being determined
	Waiting                  // another contender is ahead, and watched
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

// Enter makes an ephemeral sequential znode, with a listing right behind it, which is answered by
// [Listed] with the number Ask. If Replace is not empty, that own znode, whose possession has
// ended, is deleted in the same transaction.
type Enter struct {
	Epoch   uint64
	Replace string
	Ask     uint64
}

// Entered answers [Enter]: the own znode's path, or a definite error with nothing left behind.
// Czxid and Owner are those in the reply to the create; 0 if the reply has none, because the server
// is old, the reply was lost, or a znode was replaced.
type Entered struct {
	Epoch uint64
	Path  string
	Czxid int64
	Owner int64
	Err   error
}

// Downgrade replaces an own writer's znode by a reader's at the same position in the queue, in one
// transaction. Token is the writer's token.
type Downgrade struct {
	Epoch uint64
	Path  string // of the writer's
	Token int64
}

// Downgraded answers [Downgrade]. Gone tells that the znode at Path did not exist any more. With
// Gone or Err, which is definite, nothing was done.
type Downgraded struct {
	Epoch uint64
	Path  string // of the writer's
	New   string // of the reader's
	Gone  bool
	Err   error
}

// Record writes a token into the record beside the contenders, in a transaction that fails if the
// own znode does not exist. It replaces the record of that version; with version -1 it makes the
// record.
type Record struct {
	Epoch   uint64
	Ask     uint64
	Path    string // path of the own znode
	Token   int64
	Version int32
	Delay   int64 // how long the machine will wait if there is another's token, in milliseconds: this is added to the record for observers; 0: it does not wait
}

// Recorded answers [Record] with the token that the record contains then: that of the request, if
// it was written; 0 if there is no record, or none that makes sense.
type Recorded struct {
	Epoch   uint64
	Ask     uint64
	Token   int64
	Version int32 // of the record, -1 if there is none
	Err     error // definite
}

// Release is [Remove] for a possession that was released: the record is deleted in the same
// transaction.
type Release struct {
	Epoch uint64
	Path  string
}
