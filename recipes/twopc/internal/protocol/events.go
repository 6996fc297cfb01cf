package protocol

import "errors"

// The requests of a coordinator's application. N numbers the transaction within the instance; a
// request may be received twice.
type (
	// Begin asks the sites for their votes. Floor is the value from Sent, if an earlier machine may
	// have begun the transaction.
	Begin struct {
		N       uint64
		ID      string
		GUID    string
		Payload []byte
		Sites   []string
		Peers   bool
		Floor   int64
	}
	// Recover takes over a transaction whose coordinator has died. Again: an earlier machine
	// received the request, and may have carried it out. Without an ID, it only waits until the
	// coordinator with that GUID has answered, or is gone, so that no request of a dead coordinator
	// is in flight any more.
	Recover struct {
		N           uint64
		ID          string
		Coordinator string
		Again       bool
	}
	// Resume continues a transaction that had begun, or was taken over, before a crash of the
	// machine.
	Resume struct {
		N     uint64
		ID    string
		GUID  string
		Sites []string
	}
	// Abort aborts the transaction, unless it is decided. A transaction that has not begun does not
	// begin: Refused or Doubtful answers at once.
	Abort struct {
		N      uint64
		Reason string
	}
	// AckOutcome acknowledges the outcome: the application has recorded it. Shared: see Decided.
	AckOutcome struct {
		N       uint64
		ID      string
		GUID    string
		Sites   []string
		Outcome Outcome
		Reason  string
		Shared  Shared
	}
	// Release says that the application does not have the outcome, so the transaction may be taken
	// over again.
	Release struct{ GUID string }
	// Keep tells a restarted machine that the application has an outcome and has not acknowledged
	// it. Czxid is the value from Over.
	Keep struct {
		ID    string
		GUID  string
		Czxid int64
	}
)

// What the machine tells a coordinator's application.
type (
	// Sent precedes the request of a Begin: the znodes that it creates are younger than Floor.
	Sent struct {
		N     uint64
		Floor int64
	}
	// Begun answers Begin.
	Begun struct{ N uint64 }
	// Refused answers Begin: nothing was done. It also answers Recover: there is nothing to take
	// over.
	Refused struct {
		N   uint64
		Err error
	}
	// Doubtful answers the Abort of a Begin that was sent: it may have begun, and be decided. Begun
	// or Refused follows when that is known.
	Doubtful struct{ N uint64 }
	// Recovered answers Recover.
	Recovered struct {
		N     uint64
		GUID  string
		Sites []string
	}
	// Voted tells a site's vote, once.
	Voted struct {
		N    uint64
		Vote Vote
	}
	// Decided tells the outcome, once, and the coordinators for which it must be kept.
	Decided struct {
		N       uint64
		Outcome Outcome
		By      string
		Reason  string
		Shared  Shared
	}
	// Denied tells that ZooKeeper refuses an operation on a transaction that has begun, or may
	// have. The application has nothing more to wait for. The machine aborts the transaction as
	// soon as it can. Then Over follows, or Refused if it has not begun.
	Denied struct {
		N   uint64
		Err error
	}
	// Failed ends a transaction at this coordinator without an outcome.
	Failed struct {
		N   uint64
		Err error
	}
	// Over ends a transaction at this coordinator: it is decided. AckOutcome begins what is left to
	// do. Czxid is that of its record, 0 if the record is gone.
	Over struct {
		N     uint64
		Czxid int64
	}
	// OutcomeAcked answers AckOutcome.
	OutcomeAcked struct {
		N   uint64
		Err error
	}
)

// The errors of a coordinator's requests.
var (
	ErrInUse          = errors.New("twopc: a transaction with this id exists")
	ErrFinished       = errors.New("twopc: a transaction with this id has ended, and its outcome has not been acknowledged")
	ErrBusy           = errors.New("twopc: the inbox of a site is full")
	ErrGone           = errors.New("twopc: the transaction is gone, and its outcome is unknown")
	ErrNotRecoverable = errors.New("twopc: there is nothing to take over")
	ErrWithdrew       = errors.New("twopc: withdrawn before it began")
)
