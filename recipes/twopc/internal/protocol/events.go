package protocol

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// The requests of a coordinator's application. N numbers the transaction within the instance, in
// the order of the requests; a machine that was restarted may receive a request twice.
type (
	// Begin asks the sites for their votes. If it was sent, it is carried out only while the
	// coordinator has a presence: that with this Czxid, as far as is known.
	Begin struct {
		N        uint64
		ID, GUID string
		Payload  []byte
		Sites    []string
		Peers    bool
		Presence int64
	}
	// Recover takes over a transaction whose coordinator has died. Without an ID, it only waits
	// until the coordinator with that GUID has answered, or is gone, so that no request of a dead
	// coordinator is in flight any more.
	Recover struct {
		N           uint64
		ID          string
		Coordinator string
	}
	// Resume continues a transaction that had begun, or was taken over, before a crash of the
	// machine. Acked: the application has recorded its outcome, and acknowledges it.
	Resume struct {
		N        uint64
		ID, GUID string
		Sites    []string
		Acked    bool
	}
	// Abort aborts the transaction, unless it is decided. One that was not sent does not begin.
	// Withdrawn: nobody acknowledges that it is aborted, so the machine does.
	Abort struct {
		N         uint64
		Reason    string
		Withdrawn bool
	}
)

// What the machine tells a coordinator's application.
type (
	// Noted says what a restarted machine is to be told instead of the request with this number: a
	// Begin with its Presence, before it is sent; a Resume, when the transaction has begun, or was
	// taken over; or one that is Acked, when it was withdrawn, and is aborted.
	Noted struct {
		N       uint64
		Request machine.Event
	}
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
	// InDoubt: it is not known whether the transaction has begun; if not so, a Begin without a
	// Resume was not carried out, and never will be.
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
	// more. Known: it has learned the outcome.
	Ack struct {
		GUID  string
		Known bool
	}
	// Reopen tells a restarted machine that the application has the transaction. Entry is the value
	// from Propose.
	Reopen struct{ GUID, ID, Entry string }
)

// What the machine tells a site's application.
type (
	// Propose delivers a transaction that waits for this site, or for its acknowledgement.
	Propose struct {
		GUID, ID, Entry string
		Payload         []byte
		Voted           Outcome // this site's vote
	}
	// CastDone answers Cast.
	CastDone struct {
		GUID string
		Err  error
	}
	// Learned tells the outcome. It follows Propose.
	Learned struct {
		GUID    string
		Outcome Outcome
		Reason  string
	}
	// Gone tells that the transaction is gone and its outcome cannot be known.
	Gone struct{ GUID string }
	// Acked answers Ack: this site has finished with the transaction.
	Acked struct {
		GUID string
		Err  error
	}
)

// The errors of the requests.
var (
	ErrInUse          = errors.New("twopc: a transaction with this id exists")
	ErrFinished       = errors.New("twopc: a transaction with this id has ended, and its outcome has not been acknowledged")
	ErrBusy           = errors.New("twopc: the inbox of a site is full")
	ErrGone           = errors.New("twopc: the transaction is gone, and its outcome is unknown")
	ErrNotRecoverable = errors.New("twopc: there is nothing to take over")
	ErrWithdrew       = errors.New("twopc: withdrawn before it began")
	ErrDecided        = errors.New("twopc: the transaction is decided")
	ErrVoted          = errors.New("twopc: this site has already voted differently")
	ErrUndecided      = errors.New("twopc: the transaction is not decided")
	ErrTaken          = errors.New("twopc: another site with this name is alive")
)
