package protocol

import (
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/owner"
)

// A presence is an ephemeral znode with its owner's GUID, and optionally a word on a second line. A
// process that does not know whether the owner is alive, or has died and its session has not
// expired yet, replaces the data by the question "who". A live owner watches its znode, and writes
// its GUID and "here": see package owner. The first line of a question is empty. It may arrive so
// late that it reaches the successor of the owner that it was meant for, so it also contains that
// owner's GUID. An owner that lost the reply to its create and was restarted recognizes its znode
// by that GUID.
const (
	who  = "\nwho"
	here = "here"
)

func parsePresence(data []byte) (guid, word string) {
	guid, word, _ = strings.Cut(string(data), "\n")
	return guid, word
}

// question returns the question to write into a presence with these data.
func question(data []byte) []byte {
	guid, _ := parsePresence(data)
	if guid == "" {
		guid = meant(data)
	}
	return []byte(who + "\n" + guid)
}

// meant returns the GUID that a question is meant for, "" if data are not a question.
func meant(data []byte) string {
	guid, _ := strings.CutPrefix(string(data), who+"\n")
	if !isQuestion(data) {
		return ""
	}
	return guid
}

func isQuestion(data []byte) bool {
	return string(data) == who || strings.HasPrefix(string(data), who+"\n")
}

// presence maintains a participant's presence in every epoch.
type presence struct {
	requests  *requests
	path      string
	guid      string
	ready     func()          // it exists
	duplicate func()          // another live owner has it
	fail      func(err error) // it cannot be created

	state presenceState
	own   *follower
	made  bool   // the last create may have made the znode that exists
	left  func() // called when it is deleted; only if that has to wait for the create
}

type presenceState int

const (
	absent     presenceState = iota // not requested in this epoch
	creating                        // a create is in flight
	checking                        // one exists: whose it is is being read
	asking                          // it is another owner's, which is asked whether it is alive
	registered                      // it exists
	leaving                         // it is being deleted
)

// reset forgets the state of the epoch.
func (p *presence) reset() { p.state, p.own, p.made, p.left = absent, nil, false, nil }

// serving reports whether the participant has asked for its presence, and not deleted it.
func (p *presence) serving() bool { return p.state != absent && p.state != leaving }

// recheck reads the presence again before anything that depends on it is done.
func (p *presence) recheck() {
	p.state = checking
	p.own.look()
}

// leave deletes it.
func (p *presence) leave(gone func()) {
	before := p.state
	p.state = leaving
	p.own.stop()
	switch before {
	case registered:
		p.requests.remove(p.path, gone)
	case creating:
		p.left = gone
	default:
		p.clear(gone)
	}
}

// clear deletes the znode, unless it is another owner's.
func (p *presence) clear(gone func()) {
	p.requests.read(p.path, func(ev machine.Seen) {
		if ev.Exists && p.mine(ev) {
			p.requests.remove(p.path, gone)
			return
		}
		gone()
	})
}

// mine reports whether the znode is this owner's, of this epoch, and not that of another owner in
// the same session. While it is a question, the data tell less.
func (p *presence) mine(ev machine.Seen) bool {
	guid, _ := parsePresence(ev.Data)
	return ev.Stat.Owner == p.requests.session && (guid == p.guid || guid == "" && (p.made || meant(ev.Data) == p.guid))
}

// create creates it, after other operations.
func (p *presence) create(before ...machine.Op) {
	p.own.stop()
	p.state = creating
	p.requests.transact(p.created, append(before, machine.Op{Do: machine.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})...)
}

func (p *presence) created(ev machine.Transacted) {
	p.made = ev.Code == machine.Done || ev.Code == machine.Unknown
	switch {
	case p.state == leaving:
		p.clear(p.left)
	case ev.Code == machine.NoNode:
		parent, _ := znode.Split(p.path)
		p.requests.ensure(func(err error) {
			switch {
			case err != nil:
				p.fail(err)
			case p.state == leaving:
				p.clear(p.left)
			default:
				p.create()
			}
		}, parent)
	case ev.Code == machine.Refused:
		p.fail(ev.Err)
	default: // one exists: whose is it?
		p.state = checking
		p.own.stop()
		p.own = p.requests.follow(p.path, p.seen)
	}
}

func (p *presence) seen(ev machine.Seen) {
	guid, _ := parsePresence(ev.Data)
	switch {
	case ev.Code == machine.Refused:
		p.fail(ev.Err)
	case !ev.Exists:
		p.create()
	case guid == p.guid && p.mine(ev):
		if p.state != registered {
			p.state = registered
			p.ready()
		}
	case p.mine(ev) && p.made: // it is a question
		p.requests.transact(p.answered, machine.Op{Do: machine.Set, Path: p.path, Data: []byte(p.guid + "\n" + here), Version: ev.Stat.Version})
	case guid == p.guid, p.mine(ev): // its own, of a session that is ending, or from before a crash
		p.create(machine.Op{Do: machine.Delete, Path: p.path, Version: ev.Stat.Version})
	default:
		p.own.stop()
		p.state = asking
		p.requests.probe(p.path, func(alive bool, _ error) { // one that may not be asked is another owner's
			switch {
			case p.state != asking:
			case alive:
				p.duplicate()
			default:
				p.create()
			}
		})
	}
}

// answered reads again if the transaction failed: the question may have been written once more.
func (p *presence) answered(ev machine.Transacted) {
	if ev.Code != machine.Done {
		p.own.look()
	}
}

// probe finds out whether the owner of a presence is alive: the owner answers, or the presence is
// deleted. An owner that may not be asked counts as alive, with the error.
func (r *requests) probe(path string, found func(alive bool, err error)) {
	q := &probe{found: found, inquiry: owner.New(isQuestion)}
	q.follower = r.follow(path, q.seen)
}

type probe struct {
	*follower
	found   func(alive bool, err error)
	err     error // it may not be read or written
	inquiry *owner.Inquiry
}

func (q *probe) seen(ev machine.Seen) {
	if ev.Code == machine.Refused {
		q.err = ev.Err
	}
	switch q.inquiry.Saw(ev) {
	case owner.Alive:
		q.stop()
		q.found(true, q.err)
	case owner.Gone:
		q.stop()
		q.found(false, nil)
	case owner.Ask:
		q.requests.transact(q.put, machine.Op{Do: machine.Set, Path: q.path, Data: question(ev.Data), Version: ev.Stat.Version})
	case owner.Wait:
	}
}

func (q *probe) put(ev machine.Transacted) {
	if ev.Code == machine.Refused {
		q.err = ev.Err
	}
	q.inquiry.Put(ev)
	if !q.over {
		q.look()
	}
}
