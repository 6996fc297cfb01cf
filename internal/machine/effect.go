package machine

import "errors"

// ErrHeld refuses a Try claim: somebody is ahead.
var ErrHeld = errors.New("somebody is ahead")

// Machine is pure decision logic: one event in, the effects that follow out.
type Machine interface{ Step(Event) []Effect }

// Effect is something that a machine asks its host to do. The set is closed.
type Effect interface{ effect() }

// Enter makes an ephemeral sequential znode, with a listing right behind it that is
// answered by Listed with the number Ask. If Replace is not empty, that own znode, whose possession
// is over, is deleted in the same transaction.
type Enter struct {
	Epoch   uint64
	Replace string
	Ask     uint64
}

// List reads the names of the contenders and, if Watch, arms a watch on who comes and goes in the
// same trip.
type List struct {
	Epoch uint64
	Ask   uint64
	Watch bool
}

// Read reads a znode and, if Watch, arms a watch on it in the same trip. A znode that does not
// exist arms nothing.
type Read struct {
	Epoch uint64
	Path  string
	Ask   uint64
	Watch bool
}

// Leave deletes an own znode, for certain.
type Leave struct {
	Epoch uint64
	Path  string
}

// Unwatch says that the machine depends no more on the watch that a [Read] of this path has armed,
// or that one under way would arm. It need not be told of that event any more, but may. Not
// answered.
type Unwatch struct {
	Epoch uint64
	Path  string
}

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
	Err   error // of Unwatched
}

// Cause says why a machine ends a possession.
type Cause int

// Why a machine ends one.
const (
	Deleted   Cause = iota + 1 // somebody deleted the own znode
	Expired                    // the epoch is over
	Unwatched                  // the own znode can't be read, so that nobody would tell when it goes; it is being deleted
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

// Wake asks for Woke after a pause: the Try-th in a row, which the host turns into a jittered
// exponential delay.
type Wake struct {
	Ask uint64
	Try int
}

// Publish tells the world where the instance stands.
type Publish struct{ Standing Standing }

func (Enter) effect()   {}
func (List) effect()    {}
func (Read) effect()    {}
func (Leave) effect()   {}
func (Unwatch) effect() {}
func (Grant) effect()   {}
func (End) effect()     {}
func (Revoked) effect() {}
func (Freed) effect()   {}
func (Settle) effect()  {}
func (Wake) effect()    {}
func (Publish) effect() {}
