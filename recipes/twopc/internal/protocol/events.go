package protocol

import "github.com/troupe-go/troupe/internal/sentinel"

// What a coordinator's application asks for.
type (
	// Request is about one transaction, or another coordinator. It is also what a restarted machine
	// is told: see Progressed. It is told once more to give it up.
	Request struct {
		N        uint64 // numbers the requests of the instance, in their order; one may be received twice
		Stage    Stage
		ID, GUID string   // the GUID is unknown while Recovering; of one that is Asking, ID is the coordinator's GUID
		Sites    []string // also unknown then
		Payload  []byte   // while Beginning
		Peers    bool     // the same
		Presence int64    // of a begin that was sent: it is carried out only while the coordinator's presence has this Czxid
		Abort
	}
	// Abort gives a request up: its transaction is aborted, unless it is decided. One that was not
	// sent does not begin. Withdrawn: nobody acknowledges that it is aborted, so the machine does.
	Abort struct {
		Aborts    bool
		Reason    string
		Withdrawn bool
	}
)

// Stage is how far a coordinator is with a transaction, or where it starts.
type Stage int

// The stages.
const (
	Beginning     Stage = iota // the transaction is being written
	Asking                     // another coordinator is asked: it answers, or is gone, and no request of a dead one is in flight any more
	Recovering                 // the transaction of a dead coordinator is being taken over
	Preparing                  // votes are awaited, or the decision is being written
	Acknowledging              // the application has recorded the outcome; the coordinator deletes its mark
)

// What the machine tells a coordinator's application.
type (
	// Progressed says what a restarted machine is to be told instead of the request with this number: a
	// begin with its Presence, before it is sent; the next stage, when the transaction has begun,
	// or was taken over, or was withdrawn and is aborted.
	Progressed struct{ Request Request }
	// Voted tells a site's vote, perhaps more than once.
	Voted struct {
		N    uint64
		Vote Vote
	}
	// Decided tells the outcome. By is the site whose vote has aborted it.
	Decided struct {
		N          uint64
		Outcome    Outcome
		By, Reason string
	}
	// Ended ends the request with this number: it is decided or acknowledged, or Err says why not.
	// InDoubt: it is not known whether the transaction has begun; if not so, one that was still
	// Beginning was not carried out, and never will be.
	Ended struct {
		N       uint64
		Err     error
		InDoubt bool
	}
)

// The requests of a site's application, for the transaction with this GUID.
type (
	// Cast is its vote. Reason is for votes to abort.
	Cast struct {
		GUID   string
		Commit bool
		Reason string
	}
	// Ack says that the application has acted on the decision and does not need the transaction any
	// more.
	Ack struct{ GUID string }
)

// What the machine tells a site's application.
type (
	// Propose delivers a transaction that waits for this site, or for its acknowledgement. A
	// restarted machine is told which ones the application has, by the same.
	Propose struct {
		GUID, ID, Entry string
		Payload         []byte
		Voted           Outcome // this site's vote
	}
	// CastDone answers Cast. Voted is this site's vote.
	CastDone struct {
		GUID  string
		Voted Outcome
		Err   error
	}
	// Learned tells the outcome: Undecided if the transaction is gone, so that it can't be known.
	// It follows Propose.
	Learned struct {
		GUID    string
		Outcome Outcome
		Reason  string
	}
	// Acked answers Ack: this site has finished with the transaction. ErrGone: the outcome can't be
	// known; or it was acknowledged before, by a machine that has crashed.
	Acked struct {
		GUID string
		Err  error
	}
)

// The errors of the requests.
const (
	ErrDuplicate      = sentinel.ConstError("twopc: the name is taken")
	ErrFinished       = sentinel.ConstError("twopc: a transaction with this id has ended, and its outcome has not been acknowledged")
	ErrBusy           = sentinel.ConstError("twopc: the inbox of a site is full")
	ErrGone           = sentinel.ConstError("twopc: the transaction is gone, and its outcome is unknown")
	ErrNotRecoverable = sentinel.ConstError("twopc: there is nothing to take over")
	ErrWithdrew       = sentinel.ConstError("twopc: withdrawn before it began")
	ErrDecided        = sentinel.ConstError("twopc: the transaction is decided")
	ErrVoted          = sentinel.ConstError("twopc: this site has already voted differently")
	ErrUndecided      = sentinel.ConstError("twopc: the transaction is not decided")
)
