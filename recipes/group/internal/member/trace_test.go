package member_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/group/internal/member"
)

const own = "/g/ann"

func begin(t *testing.T) *recipetest.Trace {
	t.Helper()
	return recipetest.NewTrace(t, member.New(member.Config{Path: "/g", ID: "ann", Data: []byte("1"), Patience: 20_000}))
}

func made(ask uint64) recipe.Event {
	return recipe.Transacted{Epoch: 1, Ask: ask, Failed: -1, Results: []recipe.Result{{Path: own, Stat: recipe.Stat{Version: 1}}}}
}

func failed(ask uint64, code recipe.Code) recipe.Event {
	return recipe.Transacted{Epoch: 1, Ask: ask, Code: code, Err: errors.New(code.String())}
}

func seen(ask uint64, data string, owner, czxid int64) recipe.Event {
	return recipe.Seen{Epoch: 1, Ask: ask, Path: own, Exists: true, Data: []byte(data), Stat: recipe.Stat{Owner: owner, Czxid: czxid}}
}

var epoch = recipe.EpochBegan{Epoch: 1, SessionID: 7, Trusted: true}

func TestTraceLife(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tr.Say("The group does not exist yet.")
	tr.Tell(epoch, failed(1, recipe.NoNode), recipe.Ensured{Epoch: 1, Ask: 2})
	tr.Say("An update before it is registered waits for that.")
	tr.Tell(made(3), member.Updated{Number: 1, Data: []byte("2")})
	tr.Tell(seen(4, "1", 7, 10))
	tr.Say("Its own writing fires the watch, which is armed again.")
	tr.Tell(recipe.Fired{Epoch: 1, Path: own, Change: recipe.DataChanged}, made(5), seen(6, "2", 7, 10))
	tr.Say("Somebody writes to it by hand: the latest data are written again. Somebody deletes it: it registers again.")
	tr.Tell(recipe.Fired{Epoch: 1, Path: own, Change: recipe.DataChanged}, seen(7, "x", 7, 10), made(8))
	tr.Tell(recipe.Fired{Epoch: 1, Path: own, Change: recipe.Deleted}, recipe.Seen{Epoch: 1, Ask: 9, Path: own})
	tr.Say("It leaves while the creation is under way.")
	tr.Tell(recipe.Closing{}, made(10), seen(11, "2", 7, 12), recipe.Removed{Epoch: 1, Ask: 12, Path: own})
	tr.Compare("life")
}

func TestTraceDuplicate(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tr.Say("There is one of that name, of another session. It goes in time, but another comes, and that one stays.")
	tr.Tell(epoch, failed(1, recipe.NodeExists), seen(2, "1", 6, 5))
	tr.Tell(recipe.Fired{Epoch: 1, Path: own, Change: recipe.Deleted}, seen(4, "1", 8, 11))
	tr.Tell(recipe.Fired{Epoch: 1, Path: own, Change: recipe.DataChanged}, seen(6, "1", 8, 11))
	effects := tr.Tell(recipe.Woke{Ask: 5}, seen(7, "1", 8, 11))
	require.Contains(t, effects, recipe.Effect(recipe.Stop{Err: member.ErrDuplicate}))
	tr.Compare("duplicate")
}

func TestTraceEpochs(t *testing.T) {
	t.Parallel()
	tr := begin(t)
	tr.Say("The answer to the creation is lost, and it was carried out. Then the epoch ends; the old znode is still there in the next, and is not taken for its own.")
	tr.Tell(epoch, failed(1, recipe.Unknown), seen(2, "1", 7, 5))
	tr.Tell(recipe.EpochEnded{Epoch: 1}, member.Updated{Number: 1, Data: []byte("2")}, recipe.EpochBegan{Epoch: 2, SessionID: 8})
	tr.Tell(recipe.Transacted{Epoch: 2, Ask: 3, Code: recipe.NodeExists})
	tr.Tell(recipe.Seen{Epoch: 2, Ask: 4, Path: own, Exists: true, Data: []byte("1"), Stat: recipe.Stat{Owner: 7, Czxid: 5}})
	tr.Tell(recipe.Fired{Epoch: 2, Path: own, Change: recipe.Deleted}, recipe.Seen{Epoch: 2, Ask: 6, Path: own})
	tr.Say("It leaves while it waits for the end of somebody else's.")
	tr.Tell(recipe.Transacted{Epoch: 2, Ask: 7, Code: recipe.NodeExists})
	tr.Tell(recipe.Seen{Epoch: 2, Ask: 8, Path: own, Exists: true, Stat: recipe.Stat{Owner: 9, Czxid: 15}}, recipe.Closing{})
	tr.Compare("epochs")
}
