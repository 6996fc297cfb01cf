package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/twopc/internal/protocol"
)

// A site's inbox goes, as an empty container does, and is made again by a coordinator between the
// site's two questions: the listing finds nothing, the read leaves a watch. That watch fires while
// the site reads once more. It has taken what it waited for along, so the inbox is read with a
// watch again, or the site would never hear of anything.
func TestAWatchOfBeforeFiresWhileTheInboxIsReadAgain(t *testing.T) {
	t.Parallel()
	const presence, inbox = "/pay/alive/x", "/pay/inbox/x"
	s := protocol.NewSite("/pay", "x", "guid")
	var reads []machine.Read
	var list machine.List
	step := func(ev machine.Event) []machine.Effect {
		effects := s.Step(ev)
		for _, e := range effects {
			switch e := e.(type) {
			case machine.Read:
				reads = append(reads, e)
			case machine.List:
				list = e
			}
		}
		return effects
	}
	first := func(effects []machine.Effect) uint64 {
		require.Len(t, effects, 1)
		switch e := effects[0].(type) {
		case machine.Transact:
			return e.Ask
		case machine.Ensure:
			return e.Ask
		case machine.Read:
			return e.Ask
		}
		require.Fail(t, "no question", "%T", effects[0])
		return 0
	}
	seen := func(version int32) machine.Seen {
		read := reads[len(reads)-1]
		require.Equal(t, inbox, read.Path)
		return machine.Seen{Epoch: 1, Ask: read.Ask, Path: inbox, Exists: true, Stat: machine.Stat{Czxid: 7, Version: version}}
	}

	create := first(step(machine.EpochBegan{Epoch: 1, SessionID: 5}))
	own := first(step(machine.Transacted{Epoch: 1, Ask: create, Failed: -1, Results: []machine.Result{{}}}))
	step(machine.Seen{Epoch: 1, Ask: own, Path: presence, Exists: true, Data: []byte("guid"), Stat: machine.Stat{Czxid: 3, Owner: 5}})
	step(machine.Listed{Epoch: 1, Ask: list.Ask, Path: inbox, Code: machine.NoNode})
	ensure := first(step(seen(0)))
	step(machine.Ensured{Epoch: 1, Ask: ensure})
	step(machine.Listed{Epoch: 1, Ask: list.Ask, Path: inbox, Stat: machine.Stat{Czxid: 7, Version: 1}})
	step(machine.Fired{Epoch: 1, Path: inbox, Change: machine.DataChanged})
	before := len(reads)
	step(seen(1))
	require.Greater(t, len(reads), before, "it is read again")
	require.Equal(t, inbox, reads[before].Path)
	require.True(t, reads[before].Watch)
}
