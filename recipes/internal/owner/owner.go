// Package owner finds out whether the owner of an ephemeral znode is alive. It is pure decision
// logic, for machines (package machine) that register a name.
//
// A process that finds a name taken does not know whether the owner is alive, or has died and its
// session has not expired yet. The owner may also be an earlier session of the same process. Only
// the servers know how long an expiry takes: they negotiate the timeout, and an outage of the
// servers prolongs it. So there is no time limit. The process writes a question into the znode. A
// live owner watches its own znode, and writes its own data again. So either the owner answers, or
// the znode is deleted, and until then the process waits.
package owner

import "github.com/troupe-go/troupe/machine"

// Finding is the conclusion from a read of the znode.
type Finding int

// The findings.
const (
	Wait  Finding = iota // the question is written: read again when the znode changes
	Ask                  // write the question, on condition of the version that was read
	Gone                 // the znode does not exist
	Alive                // the owner has answered; or the znode may not be read or written; or no session owns it
)

// Inquiry asks for the owner of one path in one epoch.
type Inquiry struct {
	asked   func(data []byte) bool
	czxid   int64 // of the znode that the question was written to
	version int32 // the version that the question created; 0: not written, as far as is known
	putting bool  // it is being written: Put follows
	refused bool  // it may not be written
}

// New returns an inquiry that has not asked anything. asked reports whether data are a question, as
// opposed to the owner's data.
func New(asked func(data []byte) bool) *Inquiry { return &Inquiry{asked: asked} }

// Saw handles a read of the znode. If it returns Ask, the caller writes the question and calls Put
// with the reply.
func (q *Inquiry) Saw(ev machine.Seen) Finding {
	switch {
	case ev.Code == machine.Refused:
		return Alive
	case !ev.Exists:
		return Gone
	case ev.Stat.Owner == 0: // not ephemeral: no session's end deletes it
		return Alive
	case q.putting:
		return Wait
	case ev.Stat.Czxid != q.czxid: // a new znode, which has no question yet
		q.czxid, q.version, q.refused, q.putting = ev.Stat.Czxid, 0, false, true
		return Ask
	case q.refused:
		return Alive
	case q.version == 0: // another client wrote at the same time
		q.putting = true
		return Ask
	case ev.Stat.Version > q.version && !q.asked(ev.Data): // other clients may have asked too
		return Alive
	}
	return Wait
}

// Put handles the reply to the transaction that writes the question with its last operation. Then
// the caller reads the znode.
func (q *Inquiry) Put(ev machine.Transacted) {
	q.putting = false
	switch ev.Code {
	case machine.Done:
		q.version = ev.Results[len(ev.Results)-1].Stat.Version
	case machine.Refused:
		q.refused = true
	}
}
