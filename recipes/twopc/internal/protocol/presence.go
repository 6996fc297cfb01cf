package protocol

import (
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/owner"
)

// A presence is an ephemeral znode with its owner's GUID, and optionally a word on a second line. A
// process that does not know whether the owner is alive, or has died and its session has not
// expired yet, replaces the data by a question: see package owner. A live owner watches its znode,
// and writes its GUID and "here". The first line of a question is empty. The third is the GUID of
// the owner that is meant: a question may come so late that it reaches a successor, and an owner
// that lost the reply to its create and was restarted recognizes its znode by it.
const (
	who  = "\nwho\n"
	here = "\nhere"
)

// parsePresence returns the owner's GUID, "" if the data are a question, and the GUID that a
// question is meant for.
func parsePresence(data []byte) (guid, meant string) {
	if meant, asked := strings.CutPrefix(string(data), who); asked {
		return "", meant
	}
	guid, _, _ = strings.Cut(string(data), "\n")
	return guid, ""
}

func isQuestion(data []byte) bool { return strings.HasPrefix(string(data), who) }

// died reports whether the process of a presence that was read before has died, even if another one
// with its name has started. The same process, in its next session, has not.
func died(before, now machine.Seen) bool {
	was, _ := parsePresence(before.Data)
	is, _ := parsePresence(now.Data)
	return before.Exists && (!now.Exists || now.Stat.Czxid != before.Stat.Czxid && (is == "" || is != was))
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
	znode *following
	czxid int64 // of the znode, while it is registered
	made  bool  // the last create may have made the znode that exists
}

type presenceState int

const (
	absent     presenceState = iota // not requested in this epoch
	pending                         // it is being created; or one exists, and whose it is is being found out
	registered                      // it exists
	leaving                         // it is being deleted
)

// reset forgets the state of the epoch.
func (p *presence) reset() { p.state, p.znode, p.made = absent, nil, false }

// recheck reads the presence again before anything that depends on it is done.
func (p *presence) recheck() {
	p.state = pending
	p.znode.look()
}

// leave deletes it.
func (p *presence) leave(gone func()) {
	p.state = leaving
	p.znode.stop()
	p.requests.remove(p.path, gone)
}

// mine reports whether the znode is this owner's, of this epoch, and not that of another owner in
// the same session. While it is a question, the data tell less.
func (p *presence) mine(ev machine.Seen) bool {
	guid, meant := parsePresence(ev.Data)
	return ev.Stat.Owner == p.requests.session && (guid == p.guid || guid == "" && (p.made || meant == p.guid))
}

// create creates it, after other operations.
func (p *presence) create(before ...machine.Op) {
	p.znode.stop()
	p.state = pending
	p.requests.transact(p.created, append(before, machine.Op{Do: machine.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})...)
}

func (p *presence) created(ev machine.Transacted) {
	p.made = ev.Code == machine.Done || ev.Code == machine.Unknown
	if ev.Code == machine.Refused {
		p.fail(ev.Err)
		return
	}
	p.znode = p.requests.follow(follower{path: p.path}, p.fail, p.seen)
}

func (p *presence) seen(ev machine.Seen) {
	guid, _ := parsePresence(ev.Data)
	switch mine := p.mine(ev); {
	case !ev.Exists:
		p.create()
	case mine && guid == p.guid:
		if p.state != registered {
			p.state, p.czxid = registered, ev.Stat.Czxid
			p.ready()
		}
	case mine && p.made: // it is a question
		p.requests.transact(func(ev machine.Transacted) {
			if ev.Code != machine.Done { // the question may have been written once more
				p.znode.look()
			}
		}, machine.Op{Do: machine.Set, Path: p.path, Data: []byte(p.guid + here), Version: ev.Stat.Version})
	case mine, guid == p.guid: // its own, of a session that is ending, or from before a crash
		p.create(machine.Op{Do: machine.Delete, Path: p.path, Version: ev.Stat.Version})
	default:
		p.znode.stop()
		p.requests.probe(p.path, func(alive bool, _ error) { // one that may not be asked is another owner's
			if alive {
				p.duplicate()
				return
			}
			p.create()
		})
	}
}

// probe finds out whether the owner of a presence is alive: the owner answers, or the presence is
// deleted. An owner that may not be asked counts as alive, with the error.
func (r *requests) probe(path string, found func(alive bool, err error)) {
	inquiry := owner.New(isQuestion)
	var f *following
	var refused error
	f = r.follow(follower{path: path}, func(err error) {
		f.stop()
		found(true, err)
	}, func(ev machine.Seen) {
		switch inquiry.Saw(ev) {
		case owner.Alive:
			f.stop()
			found(true, refused)
		case owner.Gone:
			f.stop()
			found(false, nil)
		case owner.Ask:
			guid, meant := parsePresence(ev.Data)
			ask := machine.Op{Do: machine.Set, Path: path, Data: []byte(who + guid + meant), Version: ev.Stat.Version}
			r.transact(func(ev machine.Transacted) {
				if ev.Code == machine.Refused {
					refused = ev.Err
				}
				inquiry.Put(ev)
				f.look()
			}, ask)
		}
	})
}
