package pact

import (
	"strings"

	"github.com/troupe-go/troupe/internal/owner"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
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

// presence maintains a presence in every epoch.
type presence struct {
	desk  *desk
	path  string
	guid  string
	stood func()          // it exists in this epoch: called once per epoch
	taken func()          // another live owner has it
	fail  func(err error) // it cannot be created

	own      *follower
	begun    bool // requested in this epoch
	standing bool
	asking   bool // another owner is being asked
	creating bool // a create is in flight
	made     bool // the last create may have made the znode that exists
	leaving  bool
	left     func() // called when it is deleted; nil: no removal waits for the create
}

// reset forgets the state of the epoch.
func (p *presence) reset() {
	p.own, p.left = nil, nil
	p.begun, p.standing, p.asking, p.creating, p.made, p.leaving = false, false, false, false, false, false
}

// begin creates it in a new epoch.
func (p *presence) begin() {
	p.begun = true
	p.create()
}

// doubt has the presence read again before anything that depends on it is done.
func (p *presence) doubt() {
	p.standing = false
	p.own.look()
}

// leave deletes it.
func (p *presence) leave(gone func()) {
	p.leaving = true
	p.own.stop()
	switch {
	case p.standing:
		p.desk.remove(p.path, gone)
	case p.creating:
		p.left = gone
	default:
		p.clear(gone)
	}
}

// clear deletes the znode, unless it is another owner's.
func (p *presence) clear(gone func()) {
	p.desk.read(p.path, watcher{}, func(ev machine.Seen) {
		if ev.Exists && p.mine(ev) {
			p.desk.remove(p.path, gone)
			return
		}
		gone()
	})
}

// mine reports whether the znode is this owner's, of this epoch, and not that of another owner in
// the same session. While it is a question, the data tell less.
func (p *presence) mine(ev machine.Seen) bool {
	guid, _ := parsePresence(ev.Data)
	return ev.Stat.Owner == p.desk.session && (guid == p.guid || guid == "" && (p.made || meant(ev.Data) == p.guid))
}

func (p *presence) create() {
	p.creating = true
	p.desk.transact(p.created, machine.Op{Do: machine.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})
}

func (p *presence) created(ev machine.Transacted) {
	p.creating, p.made = false, ev.Code == machine.Done || ev.Code == machine.Unknown
	if p.leaving {
		if p.left != nil { // otherwise it is being deleted
			p.clear(p.left)
		}
		return
	}
	switch ev.Code {
	case machine.NoNode:
		parent, _ := znode.Split(p.path)
		p.desk.ensure(func(err error) {
			if err != nil {
				p.fail(err)
				return
			}
			p.create()
		}, parent)
	case machine.Refused:
		p.fail(ev.Err)
	default: // one exists: whose is it?
		p.own.stop()
		p.own = p.desk.follow(p.path, p.seen)
	}
}

func (p *presence) seen(ev machine.Seen) {
	guid, _ := parsePresence(ev.Data)
	switch {
	case ev.Code == machine.Refused:
		p.fail(ev.Err)
	case !ev.Exists:
		p.standing = false
		p.own.stop()
		p.create()
	case guid == p.guid && p.mine(ev):
		if !p.standing {
			p.standing = true
			p.stood()
		}
	case p.mine(ev) && p.made: // it is a question
		p.desk.transact(p.answered, machine.Op{Do: machine.Set, Path: p.path, Data: []byte(p.guid + "\n" + here), Version: ev.Stat.Version})
	case guid == p.guid, p.mine(ev): // its own, of a session that is ending, or from before a crash
		p.own.stop()
		p.creating = true
		p.desk.transact(p.created,
			machine.Op{Do: machine.Delete, Path: p.path, Version: ev.Stat.Version},
			machine.Op{Do: machine.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})
	case !p.asking:
		p.own.stop()
		p.asking = true
		p.desk.probe(p.path, func(alive bool, _ error) { // one that may not be asked is another owner's
			p.asking = false
			if alive {
				p.taken()
				return
			}
			p.create()
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
func (d *desk) probe(path string, found func(alive bool, err error)) {
	q := &probe{desk: d, path: path, found: found, inquiry: owner.New(isQuestion)}
	q.follower = d.follow(path, q.seen)
}

type probe struct {
	*follower
	desk    *desk
	path    string
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
		q.desk.transact(q.put, machine.Op{Do: machine.Set, Path: q.path, Data: question(ev.Data), Version: ev.Stat.Version})
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
