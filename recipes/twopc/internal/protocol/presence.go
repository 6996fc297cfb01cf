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
