package protocol

import "github.com/troupe-go/troupe/internal/sentinel"

// The events from a coordinator's application.
type (
	// Request is about one transaction, or another coordinator. A restarted machine is told the
	// pending ones: see Progressed. A second Request with the same number gives the first one up.
	Request struct {
		N        uint64 // the number of the request, in the order of the instance's requests; a machine may receive one twice
		Stage    Stage
		ID, GUID string   // of the transaction; GUID is unknown while Recovering
		Asked    string   // while Asking, in the place of a transaction: the GUID of the other coordinator
		Sites    []string // unknown while Recovering
		Payload  []byte   // while Beginning
		Peers    bool     // while Beginning
		Presence int64    // while Beginning, if the begin was sent: ZooKeeper carries it out only while the coordinator's presence has this Czxid
		Abort
	}
	// Abort gives a request up: its transaction is aborted, unless it is decided. A begin that was
	// not sent is dropped. Withdrawn: the application will not acknowledge an abort, so the machine
	// does.
	Abort struct {
		Aborts    bool
		Reason    string
		Withdrawn bool
	}
)

// Stage is how far a coordinator has come with a transaction, or where it starts.
type Stage int

// The stages.
const (
	Beginning     Stage = iota // the transaction is being written
	Asking                     // another coordinator is asked until it answers, or its presence is gone: then no request of a dead one is in flight any more
	Recovering                 // the transaction of a dead coordinator is being taken over
	Preparing                  // votes are awaited, or the decision is being written
	Acknowledging              // the application has recorded the outcome; the mark is being deleted
)

// The effects for a coordinator's application.
type (
	// Progressed replaces the request with this number, for a restarted machine: by a begin with
	// its Presence, before it is sent; by the next stage, when the transaction has begun, was taken
	// over, or was withdrawn and is aborted.
	Progressed struct{ Request Request }
	// Voted tells a site's vote, perhaps more than once.
	Voted struct {
		N    uint64
		Vote Vote
	}
	// Decided tells the outcome. By is the site whose vote has aborted the transaction.
	Decided struct {
		N          uint64
		Outcome    Outcome
		By, Reason string
	}
	// Ended ends the request with this number: its transaction is decided or acknowledged, or Err
	// says why not. InDoubt: the transaction may have begun. Without InDoubt a request in stage
	// Beginning was not carried out, and never will be.
	Ended struct {
		N       uint64
		Err     error
		InDoubt bool
	}
)

// The events from a site's application, for the transaction with the GUID.
type (
	// Cast is the application's vote. Reason belongs to a vote to abort.
	Cast struct {
		GUID   string
		Commit bool
		Reason string
	}
	// Ack says that the application has acted on the decision and does not need the transaction any
	// more.
	Ack struct{ GUID string }
)

// The effects for a site's application.
type (
	// Propose delivers a transaction that waits for this site's vote or acknowledgement. As an
	// event it tells a restarted machine which transactions the application has.
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
	// Learned tells the outcome: Undecided if the transaction is gone, so that its outcome can't be
	// known. It follows Propose.
	Learned struct {
		GUID    string
		Outcome Outcome
		Reason  string
	}
	// Acked answers Ack: this site's znodes are deleted. ErrGone: the outcome can't be known; or a
	// machine that has crashed has acknowledged it before.
	Acked struct {
		GUID string
		Err  error
	}
)

// The errors of the requests.
const (
	ErrDuplicate      = sentinel.ConstError("the name is taken")
	ErrFinished       = sentinel.ConstError("a transaction with this id has ended, and its outcome has not been acknowledged")
	ErrBusy           = sentinel.ConstError("the inbox of a site is full")
	ErrGone           = sentinel.ConstError("the transaction is gone, and its outcome is unknown")
	ErrNotRecoverable = sentinel.ConstError("there is nothing to take over")
	ErrWithdrew       = sentinel.ConstError("withdrawn before it began")
	ErrDecided        = sentinel.ConstError("the transaction is decided")
	ErrVoted          = sentinel.ConstError("this site has already voted differently")
	ErrUndecided      = sentinel.ConstError("the transaction is not decided")
)
