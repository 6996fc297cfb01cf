package member_test

// The member's decisions in stories that are told step by step.

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
)

const ann = "/g/ann"

func begin(t *testing.T) *recipetest.Trace {
	t.Helper()
	return recipetest.NewTrace(t, member.New(member.Config{Path: "/g", ID: "ann", Data: []byte("1")}))
}

func made(ask uint64) machine.Event {
	return machine.Transacted{Epoch: 1, Ask: ask, Failed: -1, Results: []machine.Result{{Path: ann, Stat: machine.Stat{Version: 1}}}}
}

func failed(ask uint64, code machine.Code) machine.Event {
	return machine.Transacted{Epoch: 1, Ask: ask, Code: code, Err: errors.New(code.String())}
}

func seen(ask uint64, data string, owner, czxid int64) machine.Event {
	return machine.Seen{Epoch: 1, Ask: ask, Path: ann, Exists: true, Data: []byte(data), Stat: machine.Stat{Owner: owner, Czxid: czxid}}
}

var epoch = machine.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}

func TestTraceLife(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tr.Say("The group does not exist yet.")
	tr.Tell(epoch, failed(1, machine.NoNode), machine.Ensured{Epoch: 1, Ask: 2})
	tr.Say("An update before it is registered waits for that.")
	tr.Tell(made(3), member.Updated{Number: 1, Data: []byte("2")})
	tr.Tell(seen(4, "1", 7, 10))
	tr.Say("Its own writing fires the watch, which is armed again.")
	tr.Tell(machine.Fired{Epoch: 1, Path: ann, Change: machine.DataChanged}, made(5), seen(6, "2", 7, 10))
	tr.Say("Another client writes to the znode: the latest data are written again. Another client deletes it: the member registers again.")
	tr.Tell(machine.Fired{Epoch: 1, Path: ann, Change: machine.DataChanged}, seen(7, "x", 7, 10), made(8))
	tr.Tell(machine.Fired{Epoch: 1, Path: ann, Change: machine.Deleted}, machine.Seen{Epoch: 1, Ask: 9, Path: ann})
	tr.Say("It leaves while the creation is under way.")
	tr.Tell(machine.Closing{}, made(10), seen(11, "2", 7, 12), machine.Removed{Epoch: 1, Ask: 12, Path: ann})
	tr.Compare("life")
}

func put(ask uint64, version int32) machine.Event {
	return machine.Transacted{Epoch: 1, Ask: ask, Failed: -1, Results: []machine.Result{{Path: ann, Stat: machine.Stat{Version: version}}}}
}

func at(ev machine.Event, version int32) machine.Event {
	s := ev.(machine.Seen)
	s.Stat.Version = version
	return s
}

func TestTraceDuplicate(t *testing.T) {
	t.Parallel()
	changed := machine.Fired{Epoch: 1, Path: ann, Change: machine.DataChanged}
	tr := begin(t)
	tr.Say("There is a znode of that name, of another session. Its owner is asked whether it lives, and does not answer. The znode goes in the end.")
	tr.Tell(epoch, failed(1, machine.NodeExists), seen(2, "1", 6, 5), changed, put(3, 1), at(seen(4, "1\x00who?", 6, 5), 1))
	tr.Say("But another member comes. A third one asks it at the same time, so that the question is put again.")
	tr.Tell(machine.Fired{Epoch: 1, Path: ann, Change: machine.Deleted}, seen(5, "1", 8, 11), failed(6, machine.BadVersion))
	tr.Tell(at(seen(7, "1\x00who?", 8, 11), 1), put(8, 2), at(seen(9, "1\x00who?", 8, 11), 2))
	tr.Say("The owner answers: it lives.")
	effects := tr.Tell(changed, at(seen(10, "1", 8, 11), 3))
	require.Contains(t, effects, machine.Effect(machine.Stop{Err: member.ErrDuplicate}))
	tr.Compare("duplicate")
}

func TestTraceEpochs(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tr.Say("The answer to the creation is lost, and the znode was created: the member tries once more. Then the epoch ends. In the next one the old znode still exists, and the member does not take it for its own.")
	tr.Tell(epoch, failed(1, machine.Unknown), failed(2, machine.NodeExists), seen(3, "1", 7, 5))
	tr.Tell(machine.EpochEnded{Epoch: 1}, member.Updated{Number: 1, Data: []byte("2")}, machine.EpochBegan{Epoch: 2, SessionID: 8})
	tr.Tell(machine.Transacted{Epoch: 2, Ask: 4, Code: machine.NodeExists})
	tr.Tell(machine.Seen{Epoch: 2, Ask: 5, Path: ann, Exists: true, Data: []byte("1"), Stat: machine.Stat{Owner: 7, Czxid: 5}})
	asked := machine.Stat{Owner: 7, Czxid: 5, Version: 1}
	tr.Tell(machine.Transacted{Epoch: 2, Ask: 6, Failed: -1, Results: []machine.Result{{Path: ann, Stat: asked}}})
	tr.Tell(machine.Seen{Epoch: 2, Ask: 7, Path: ann, Exists: true, Data: []byte("1\x00who?"), Stat: asked})
	tr.Tell(machine.Fired{Epoch: 2, Path: ann, Change: machine.Deleted}, machine.Seen{Epoch: 2, Ask: 8, Path: ann})
	tr.Say("The member leaves while it asks the owner of another znode.")
	tr.Tell(machine.Transacted{Epoch: 2, Ask: 9, Code: machine.NodeExists})
	tr.Tell(machine.Seen{Epoch: 2, Ask: 10, Path: ann, Exists: true, Stat: machine.Stat{Owner: 9, Czxid: 15}}, machine.Closing{})
	tr.Tell(machine.Transacted{Epoch: 2, Ask: 11, Code: machine.BadVersion}, machine.Seen{Epoch: 2, Ask: 12, Path: ann, Exists: true, Stat: machine.Stat{Owner: 9, Czxid: 15}})
	tr.Compare("epochs")
}

// A member ends if it leaves while it has no znode, or if a request is refused.
func TestAMemberEndsWhenItIsRefusedOrHasNoZnode(t *testing.T) {
	t.Parallel()
	rights := errors.New("no rights")
	for _, events := range [][]machine.Event{
		{machine.Closing{}},
		{epoch, made(1), seen(2, "1", 7, 5), member.Updated{Number: 1, Data: []byte("2")}, failed(3, machine.NoNode), machine.Closing{}, machine.EpochEnded{Epoch: 1}},
		{epoch, machine.Transacted{Epoch: 1, Ask: 1, Code: machine.Refused, Err: rights}},
		{epoch, failed(1, machine.NoNode), machine.Ensured{Epoch: 1, Ask: 2, Code: machine.Refused, Err: rights}},
		{epoch, made(1), seen(2, "1", 7, 5), member.Updated{Number: 1, Data: []byte("2")}, machine.Transacted{Epoch: 1, Ask: 3, Code: machine.Refused, Err: rights}},
	} {
		m := member.New(member.Config{Path: "/g", ID: "ann", Data: []byte("1")})
		for _, ev := range events {
			m.Step(ev)
		}
		require.Equal(t, member.Over, m.State())
	}
}
