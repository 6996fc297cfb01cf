package pact

import (
	"strings"

	"github.com/troupe-go/troupe/internal/owner"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
)

// A presence is an ephemeral znode: its owner's GUID, and perhaps a word on a second line. Whoever can't tell an owner that lives from one that
// died a moment ago, whose session has not expired yet, replaces it by the question "who"; one that lives watches its znode and writes its GUID and "here": see
// package owner. The question names nobody: it may come so late that it meets the successor of the one it was meant for.
const (
	who  = "\nwho"
	here = "here"
)

func parsePresence(data []byte) (guid, word string) {
	guid, word, _ = strings.Cut(string(data), "\n")
	return guid, word
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
	leaving  bool
}

// reset forgets what belonged to the epoch.
func (p *presence) reset() {
	p.own, p.begun, p.standing, p.asking, p.leaving = nil, false, false, false, false
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
	if !p.standing { // it may be another's
		gone()
		return
	}
	p.desk.remove(p.path, gone)
}

func (p *presence) create() {
	p.desk.transact(p.created, recipe.Op{Do: recipe.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})
}

func (p *presence) created(ev recipe.Transacted) {
	if p.leaving {
		return
	}
	switch ev.Code {
	case recipe.NoNode:
		parent, _ := znode.Split(p.path)
		p.desk.ensure(func(err error) {
			if err != nil {
				p.fail(err)
				return
			}
			p.create()
		}, parent)
	case recipe.Refused:
		p.fail(ev.Err)
	default: // there is one: whose?
		p.own.stop()
		p.own = p.desk.follow(p.path, p.seen)
	}
}

func (p *presence) seen(ev recipe.Seen) {
	guid, _ := parsePresence(ev.Data)
	switch {
	case ev.Code == recipe.Refused:
		p.fail(ev.Err)
	case !ev.Exists:
		p.standing = false
		p.own.stop()
		p.create()
	case guid == p.guid && ev.Stat.Owner == p.desk.session:
		if !p.standing {
			p.standing = true
			p.stood()
		}
	case guid == "" && ev.Stat.Owner == p.desk.session: // somebody asks
		p.desk.transact(p.answered, recipe.Op{Do: recipe.Set, Path: p.path, Data: []byte(p.guid + "\n" + here), Version: ev.Stat.Version})
	case guid == p.guid: // one's own, of a session that is ending
		p.own.stop()
		p.desk.transact(p.created,
			recipe.Op{Do: recipe.Delete, Path: p.path, Version: ev.Stat.Version},
			recipe.Op{Do: recipe.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})
	case !p.asking:
		p.own.stop()
		p.asking = true
		p.desk.probe(p.path, func(alive bool) {
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
func (p *presence) answered(ev recipe.Transacted) {
	if ev.Code != recipe.Done {
		p.own.look()
	}
}

// probe finds out whether the owner of a presence lives: he answers, or his presence goes.
func (d *desk) probe(path string, found func(alive bool)) {
	q := &probe{desk: d, path: path, found: found, inquiry: owner.New(func(data []byte) bool { return string(data) == who })}
	q.follower = d.follow(path, q.seen)
}

type probe struct {
	*follower
	desk    *desk
	path    string
	found   func(alive bool)
	inquiry *owner.Inquiry
}

func (q *probe) seen(ev recipe.Seen) {
	switch q.inquiry.Saw(ev) {
	case owner.Alive:
		q.over = true
		q.found(true)
	case owner.Gone:
		q.over = true
		q.found(false)
	case owner.Ask:
		q.desk.transact(q.put, recipe.Op{Do: recipe.Set, Path: q.path, Data: []byte(who), Version: ev.Stat.Version})
	case owner.Wait:
	}
}

func (q *probe) put(ev recipe.Transacted) {
	q.inquiry.Put(ev)
	if !q.over {
		q.look()
	}
}
