package protocol

import (
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/owner"
)

// participant is the part that both roles have in common: it maintains the presence in every epoch.
type participant struct {
	role             role
	zk               *dispatcher
	root             Root
	path             string // the path of the presence
	guid             string // the data of the presence
	closing, stopped bool
	// The presence, in this epoch.
	state    state
	znode    *subscription
	czxid    int64 // while it is registered
	mayBeOwn bool  // the last create may have been carried out
}

// role is a coordinator or a site.
type role interface {
	handle(ev machine.Event)
	registered()  // the presence exists
	needed() bool // there is work that needs a presence
	reset()       // forgets the state of the epoch
}

// state is the state of the presence.
type state int

const (
	absent     state = iota // not requested in this epoch
	pending                 // it is being created; or one exists, and its owner is being found out
	registered              // it exists
	leaving                 // it is being deleted
)

// Phase returns the state, for the live tree.
func (p *participant) Phase() string {
	switch {
	case p.closing:
		return "closing"
	case p.state != registered:
		return "not registered"
	}
	return "registered"
}

// Step implements [machine.Machine].
func (p *participant) Step(ev machine.Event) []machine.Effect {
	if p.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		p.zk.begin(ev)
	case machine.EpochEnded:
		p.zk.end()
		p.state, p.znode, p.mayBeOwn = absent, nil, false
		p.role.reset()
	case machine.Closing:
		p.closing = true
	}
	p.role.handle(ev)
	p.zk.answer(ev)
	switch needed := p.role.needed(); {
	case p.stopped:
	case needed && p.state == absent && p.zk.Epoch() != 0:
		p.create()
	case needed || !p.closing || p.state == leaving:
	case p.state == registered: // the presence is deleted first, so that no process takes this participant for a live one
		p.state = leaving
		p.znode.stop()
		ask(p.zk, machine.Remove{Path: p.path}, func(machine.Removed) { p.stop(nil) })
	default: // the host deletes a presence that is not known to exist
		p.stop(nil)
	}
	return p.zk.Flush()
}

func (p *participant) stop(err error) {
	if !p.stopped {
		p.stopped = true
		p.zk.Emit(machine.Stop{Err: err})
	}
}

// create creates the presence. The operations before it are part of the transaction.
func (p *participant) create(before ...machine.Op) {
	p.znode.stop()
	p.state = pending
	p.zk.transact(func(ev machine.Transacted) {
		p.mayBeOwn = ev.Code == machine.Done || ev.Code == machine.Unknown
		if ev.Code == machine.Refused {
			p.stop(ev.Err)
			return
		}
		p.znode = p.zk.follow(follower{path: p.path}, p.stop, p.seen)
	}, append(before, machine.Op{Do: machine.Create, Path: p.path, Data: []byte(p.guid), Ephemeral: true})...)
}

func (p *participant) seen(ev machine.Seen) {
	guid, meant := parsePresence(ev.Data)
	// mine: this participant's, of this epoch, and not that of another owner in the same session.
	// If the data are a question, they tell less.
	mine := ev.Stat.Owner == p.zk.session && (guid == p.guid || guid == "" && (p.mayBeOwn || meant == p.guid))
	switch {
	case !ev.Exists:
		p.create()
	case mine && guid == p.guid: // created, or kept through a crash
		if p.state != registered {
			p.state, p.czxid = registered, ev.Stat.Czxid
			p.role.registered()
		}
	case mine && p.mayBeOwn: // the data are a question
		p.zk.transact(func(ev machine.Transacted) {
			if ev.Code != machine.Done { // another question may have been written
				p.znode.readNow()
			}
		}, machine.Op{Do: machine.Set, Path: p.path, Data: []byte(p.guid + here), Version: ev.Stat.Version})
	case mine, guid == p.guid: // this participant's, of a session that is ending, or from before a crash
		p.create(machine.Op{Do: machine.Delete, Path: p.path, Version: ev.Stat.Version})
	default:
		p.znode.stop()
		p.zk.probe(p.path, func(alive bool, _ error) { // a presence that may not be asked belongs to another owner
			if alive {
				p.stop(ErrDuplicate)
				return
			}
			p.create()
		})
	}
}

// A presence is an ephemeral znode with its owner's GUID, and optionally a word on a second line. A
// process that does not know whether the owner is alive, or has died and its session has not
// expired yet, replaces the data by a question: see package owner. A live owner watches its znode,
// and writes its GUID and "here". The first line of a question is empty. The third line is the GUID
// of the owner that is asked: a question may come so late that it reaches a successor, and an owner
// that lost the reply to its create and was restarted recognizes its znode by this line.
const (
	who  = "\nwho\n"
	here = "\nhere"
)

// parsePresence returns the owner's GUID, or, of a question, the GUID of the owner that is asked.
func parsePresence(data []byte) (guid, meant string) {
	if meant, asked := strings.CutPrefix(string(data), who); asked {
		return "", meant
	}
	guid, _, _ = strings.Cut(string(data), "\n")
	return guid, ""
}

func isQuestion(data []byte) bool { return strings.HasPrefix(string(data), who) }

// died reports whether the owner of a presence that was read before has died, even if another one
// with its name has started. The same owner in its next session has not died.
func died(before, now machine.Seen) bool {
	was, _ := parsePresence(before.Data)
	is, _ := parsePresence(now.Data)
	return before.Exists && (!now.Exists || now.Stat.Czxid != before.Stat.Czxid && (is == "" || is != was))
}

// probe finds out whether the owner of a presence is alive: the owner answers, or the presence is
// deleted. If ZooKeeper refuses the question, the owner counts as alive, and found gets the error.
func (d *dispatcher) probe(path string, found func(alive bool, err error)) {
	inquiry := owner.New(isQuestion)
	var f *subscription
	var refused error
	f = d.follow(follower{path: path}, func(err error) {
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
			d.transact(func(ev machine.Transacted) {
				if ev.Code == machine.Refused {
					refused = ev.Err
				}
				inquiry.Put(ev)
				f.readNow()
			}, ask)
		}
	})
}
