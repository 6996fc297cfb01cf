package pact

import "errors"

// What a coordinator's application wishes. N numbers the transaction within the instance; a wish
// that is told again is the same.
type (
	// Begin asks the sites. Floor is what Sent told, if a machine before this one may have begun
	// it.
	Begin struct {
		N       uint64
		ID      string
		GUID    string
		Payload []byte
		Sites   []string
		Peers   bool
		Floor   int64
	}
	// Adopt takes over a transaction whose coordinator died. Again: a machine before this one was
	// told, and may have done it. Without an ID it only waits until the coordinator of that GUID
	// has answered that it lives, or is gone, so that nothing that it has sent is under way any
	// more.
	Adopt struct {
		N           uint64
		ID          string
		Coordinator string
		Again       bool
	}
	// Resume goes on with one that had begun, or was taken over, before a crash of the machine.
	Resume struct {
		N     uint64
		ID    string
		GUID  string
		Sites []string
	}
	// Abort decides against it, unless it is decided. One that has not begun does not begin.
	Abort struct {
		N      uint64
		Reason string
	}
	// Settle acknowledges the outcome: the application has noted it. Shared: see Decided.
	Settle struct {
		N       uint64
		ID      string
		GUID    string
		Sites   []string
		Outcome Outcome
		Reason  string
		Shared  Shared
	}
	// Forget: the application does not have the outcome, so that it may be taken over again.
	Forget struct{ GUID string }
	// Keep tells a machine after a crash that the application has an outcome, and has not
	// acknowledged it. Czxid is what Over told.
	Keep struct {
		ID    string
		GUID  string
		Czxid int64
	}
)

// What a coordinator's application gets.
type (
	// Sent tells that a Begin is about to be sent, and comes before that: whatever it makes is
	// younger than Floor.
	Sent struct {
		N     uint64
		Floor int64
	}
	// Begun answers Begin.
	Begun struct{ N uint64 }
	// Refused answers Begin: nothing was done. And Adopt: there is nothing to take over.
	Refused struct {
		N   uint64
		Err error
	}
	// Adopted answers Adopt.
	Adopted struct {
		N     uint64
		GUID  string
		Sites []string
	}
	// Voted tells of a site's vote, once.
	Voted struct {
		N    uint64
		Vote Vote
	}
	// Decided tells the outcome, once; and which coordinators it has to be left for.
	Decided struct {
		N       uint64
		Outcome Outcome
		By      string
		Reason  string
		Shared  Shared
	}
	// Hindered tells that ZooKeeper refuses what is needed, of a transaction that has begun, or may
	// have: the application has nothing more to wait for. The machine aborts it as soon as it can.
	// Then Over follows, or Refused if it turns out that there is nothing.
	Hindered struct {
		N   uint64
		Err error
	}
	// Failed ends a transaction here whose outcome can't be had.
	Failed struct {
		N   uint64
		Err error
	}
	// Over ends a transaction here: it is decided. What is left to do begins with Settle. Czxid is
	// that of its record, 0 if that is gone.
	Over struct {
		N     uint64
		Czxid int64
	}
	// Settled answers Settle.
	Settled struct {
		N   uint64
		Err error
	}
)

// Why there is no outcome, or nothing to begin.
var (
	ErrInUse    = errors.New("twopc: a transaction with this id exists")
	ErrFinished = errors.New("twopc: a transaction with this id has ended, and its outcome has not been acknowledged")
	ErrBusy     = errors.New("twopc: the inbox of a site is full")
	ErrGone     = errors.New("twopc: the transaction is gone, and its outcome is unknown")
	ErrNobodys  = errors.New("twopc: there is nothing to take over")
	ErrWithdrew = errors.New("twopc: withdrawn before it began")
)
