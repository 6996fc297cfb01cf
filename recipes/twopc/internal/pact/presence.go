package pact

import (
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
)

// A presence is an ephemeral znode: its owner's GUID, and perhaps a word on a second line. Whoever can't tell an owner that lives from one that
// died a moment ago, whose session has not expired yet, replaces it by the question "who"; one that lives watches its znode and writes its GUID and "here". So
// no timeout has to be guessed. The question names nobody: it may come so late that it meets the successor of the one it was meant for.
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
	q := &probe{desk: d, path: path, found: found}
	q.follower = d.follow(path, q.seen)
}

type probe struct {
	*follower
	desk    *desk
	path    string
	found   func(alive bool)
	czxid   int64 // of the presence that was asked
	version int32 // that the question made; 0: none was put
	putting bool
}

func (q *probe) seen(ev recipe.Seen) {
	_, word := parsePresence(ev.Data)
	switch {
	case ev.Code == recipe.Refused: // nobody may look: nothing can be taken over
		q.over = true
		q.found(true)
	case !ev.Exists:
		q.over = true
		q.found(false)
	case !q.putting && ev.Stat.Czxid != q.czxid: // not asked yet; or it is a new one, which was not
		q.putting, q.czxid, q.version = true, ev.Stat.Czxid, 0
		q.ask(ev.Stat.Version)
	case q.version > 0 && word == here && ev.Stat.Version > q.version:
		q.over = true
		q.found(true)
	case q.version == 0 && !q.putting: // somebody else wrote at the same time
		q.putting = true
		q.ask(ev.Stat.Version)
	}
}

func (q *probe) ask(version int32) {
	q.desk.transact(q.put, recipe.Op{Do: recipe.Set, Path: q.path, Data: []byte(who), Version: version})
}

func (q *probe) put(ev recipe.Transacted) {
	q.putting = false
	if ev.Code == recipe.Done {
		q.version = ev.Results[0].Stat.Version
	}
	if !q.over {
		q.look()
	}
}
