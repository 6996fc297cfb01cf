package pact

import (
	"strings"

	"github.com/troupe-go/troupe/internal/owner"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// A presence is an ephemeral znode: its owner's GUID, and perhaps a word on a second line. Whoever
// can't tell an owner that lives from one that died a moment ago, whose session has not expired
// yet, replaces it by the question "who"; one that lives watches its znode and writes its GUID and
// "here": see package owner. The question leaves the first line empty: it may come so late that it
// meets the successor of the one it was meant for. Whom it was meant for stands behind it: an owner
// whose create was answered by nothing, and who was made anew since, finds by that what is its own.
const (
	who  = "\nwho"
	here = "here"
)

func parsePresence(data []byte) (guid, word string) {
	guid, word, _ = strings.Cut(string(data), "\n")
	return guid, word
}

// question is what is written into a presence that says this.
func question(data []byte) []byte {
	guid, _ := parsePresence(data)
	if guid == "" {
		guid = meant(data)
	}
	return []byte(who + "\n" + guid)
}

// meant is the GUID that a question was put to, "" of what is none.
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

// presence keeps an own one standing, in every epoch.
type presence struct {
	desk  *desk
	path  string
	guid  string
	stood func()          // it stands, in this epoch, for the first time
	taken func()          // another one lives there
	fail  func(err error) // it can't be made

	own      *follower
	begun    bool // it was asked for, in this epoch
	standing bool
	asking   bool // another owner whether he lives
	creating bool // the answer to a create is awaited
	made     bool // by its answer, what stands may be the one that was created last
	leaving  bool
	left     func() // it is to be called when it is gone; nil: nobody waits for the create with that
}

// reset forgets what belonged to the epoch.
func (p *presence) reset() {
	p.own, p.left = nil, nil
	p.begun, p.standing, p.asking, p.creating, p.made, p.leaving = false, false, false, false, false, false
}

// begin puts it up in a new epoch.
func (p *presence) begin() {
	p.begun = true
	p.create()
}

// doubt has it looked for before anything else is done that needs it.
func (p *presence) doubt() {
	p.standing = false
	p.own.look()
}

// leave takes it down.
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

// clear takes down what stands, unless it is another's.
func (p *presence) clear(gone func()) {
	p.desk.read(p.path, watcher{}, func(ev machine.Seen) {
		if ev.Exists && p.mine(ev) {
			p.desk.remove(p.path, gone)
			return
		}
		gone()
	})
}

// mine tells an own one, of this epoch, from that of another one in the same session. While
// somebody asks it says less.
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
		if p.left != nil { // else it is being removed
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
	default: // there is one: whose?
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
	case p.mine(ev) && p.made: // somebody asks
		p.desk.transact(p.answered, machine.Op{Do: machine.Set, Path: p.path, Data: []byte(p.guid + "\n" + here), Version: ev.Stat.Version})
	case guid == p.guid, p.mine(ev): // one's own, of a session that is ending, or of before a crash
		p.own.stop()
		p.creating = true
		p.desk.transact(p.created,
			machine.Op{Do: machine.Delete, Path: p.path, Version: ev.Stat.Version},
			machine.Op{Do: machine.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})
	case !p.asking:
		p.own.stop()
		p.asking = true
		p.desk.probe(p.path, func(alive bool, _ error) { // one that may not be asked is another's
			p.asking = false
			if alive {
				p.taken()
				return
			}
			p.create()
		})
	}
}

// answered looks again if the answer did not get through: the question may have been put once more.
func (p *presence) answered(ev machine.Transacted) {
	if ev.Code != machine.Done {
		p.own.look()
	}
}

// probe finds out whether the owner of a presence lives: he answers, or his presence goes. One that
// may not be asked is taken for alive, with the error.
func (d *desk) probe(path string, found func(alive bool, err error)) {
	q := &probe{desk: d, path: path, found: found, inquiry: owner.New(isQuestion)}
	q.follower = d.follow(path, q.seen)
}

type probe struct {
	*follower
	desk    *desk
	path    string
	found   func(alive bool, err error)
	err     error // one may not look, or ask
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
