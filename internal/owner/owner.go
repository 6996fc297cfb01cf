// Package owner finds out whether the owner of an ephemeral znode lives. It is pure decision logic,
// for machines (package recipe) that register a name.
//
// Whoever finds the name taken can't tell an owner that lives from one that has died, or from
// itself before its session ended, and whose session has not expired yet. How long that takes only
// the servers know: they negotiate the timeout, and an outage of theirs prolongs it. So nothing is
// timed. The one that finds it writes a question into the znode; an owner that lives watches its
// own znode, and writes its own data again. So the owner has answered, or the znode goes. Until
// either happens there is nothing to do but to wait.
package owner

import "github.com/troupe-go/troupe/machine"

// Finding is what follows from a look at the znode.
type Finding int

// What may follow.
const (
	Wait  Finding = iota // the question is put: look again when the znode changes
	Ask                  // write the question, at the version that was seen
	Gone                 // there is no owner
	Alive                // the owner has answered; or one may not look, or ask; or no session owns it
)

// Inquiry is about one path, in one epoch.
type Inquiry struct {
	asked   func(data []byte) bool
	czxid   int64 // of the znode that was asked
	version int32 // that the question made; 0: none was put, as far as is known
	putting bool
	refused bool
}

// New makes an inquiry that has asked nothing. asked tells whether data are a question, and not the
// owner's.
func New(asked func(data []byte) bool) *Inquiry { return &Inquiry{asked: asked} }

// Saw takes a look at the znode into account. After Ask, Put has to follow.
func (q *Inquiry) Saw(ev machine.Seen) Finding {
	switch {
	case ev.Code == machine.Refused:
		return Alive
	case !ev.Exists:
		return Gone
	case ev.Stat.Owner == 0: // not ephemeral: it goes with nobody's session
		return Alive
	case q.putting:
		return Wait
	case ev.Stat.Czxid != q.czxid: // it is a new one, which was not asked
		q.czxid, q.version, q.refused, q.putting = ev.Stat.Czxid, 0, false, true
		return Ask
	case q.refused:
		return Alive
	case q.version == 0: // somebody else wrote at the same time
		q.putting = true
		return Ask
	case ev.Stat.Version > q.version && !q.asked(ev.Data): // others may ask, too
		return Alive
	}
	return Wait
}

// Put takes the answer to the request into account that writes the question, as its last operation.
// Look then.
func (q *Inquiry) Put(ev machine.Transacted) {
	q.putting = false
	switch ev.Code {
	case machine.Done:
		q.version = ev.Results[len(ev.Results)-1].Stat.Version
	case machine.Refused:
		q.refused = true
	}
}
