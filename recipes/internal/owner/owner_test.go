package owner_test

// An inquiry about the owner of a znode.

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/internal/owner"
)

func TestMain(m *testing.M) { tier.Main(m) }

// inquiry is one whose question is "who".
func inquiry() *owner.Inquiry {
	return owner.New(func(data []byte) bool { return string(data) == "who" })
}

func seen(data string, czxid int64, version int32) machine.Seen {
	return machine.Seen{Exists: true, Data: []byte(data), Stat: machine.Stat{Czxid: czxid, Version: version, Owner: 7}}
}

// put is the reply to a question that made this version of the data.
func put(version int32) machine.Transacted {
	return machine.Transacted{Results: []machine.Result{{Stat: machine.Stat{Version: version}}}}
}

func TestAnOwnerThatAnswersLives(t *testing.T) {
	t.Parallel()
	q := inquiry()
	require.Equal(t, owner.Ask, q.Saw(seen("x", 5, 0)))
	require.Equal(t, owner.Wait, q.Saw(seen("x", 5, 0)), "the question is on its way")
	q.Put(put(1))
	require.Equal(t, owner.Wait, q.Saw(seen("who", 5, 1)))
	require.Equal(t, owner.Wait, q.Saw(seen("who", 5, 2)), "another client asks too")
	require.Equal(t, owner.Alive, q.Saw(seen("x", 5, 3)))
}

func TestAnOwnerThatDoesNotAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	q := inquiry()
	require.Equal(t, owner.Ask, q.Saw(seen("x", 5, 0)))
	q.Put(put(1))
	require.Equal(t, owner.Wait, q.Saw(seen("who", 5, 1)))
	require.Equal(t, owner.Gone, q.Saw(machine.Seen{}))
	require.Equal(t, owner.Ask, q.Saw(seen("y", 9, 0)), "its successor was not asked")
}

// A question that failed because of another write was not put: the data of that write are no
// answer.
func TestAQuestionThatWasNotPut(t *testing.T) {
	t.Parallel()
	q := inquiry()
	require.Equal(t, owner.Ask, q.Saw(seen("x", 5, 0)))
	q.Put(machine.Transacted{Code: machine.BadVersion})
	require.Equal(t, owner.Ask, q.Saw(seen("z", 5, 1)))
	q.Put(machine.Transacted{Code: machine.Unknown})
	require.Equal(t, owner.Ask, q.Saw(seen("who", 5, 2)))
	q.Put(put(3))
	require.Equal(t, owner.Alive, q.Saw(seen("x", 5, 4)))
}

func TestAnOwnerThatMayNotBeAskedLives(t *testing.T) {
	t.Parallel()
	q := inquiry()
	require.Equal(t, owner.Alive, q.Saw(machine.Seen{Code: machine.Refused, Err: errors.New("no rights")}))
	require.Equal(t, owner.Alive, q.Saw(machine.Seen{Exists: true, Stat: machine.Stat{Czxid: 5}}), "not ephemeral")
	require.Equal(t, owner.Ask, q.Saw(seen("x", 5, 0)))
	q.Put(machine.Transacted{Code: machine.Refused, Err: errors.New("no rights")})
	require.Equal(t, owner.Alive, q.Saw(seen("x", 5, 0)))
}
