package contenders_test

// A line that is read once: its order, and what of it cannot be read.

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestReadIsInOrder(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		began := time.Now()
		other := t.Session()
		var want []string
		for i := range 40 { // more than are read at a time
			by := []*session.Session{s, other}[i%2]
			want = append(want, stand(t, by, string(rune('A'+i))))
		}
		entries := read(t, s)
		require.Equal(t, want, paths(entries))
		for i, e := range entries {
			require.Equal(t, []int64{s.Status().SessionID, other.Status().SessionID}[i%2], e.SessionID)
			require.Equal(t, string(rune('A'+i)), string(e.Data))
			require.Equal(t, int32(i), e.Contender.Seq)
			require.False(t, e.Since.Before(began.Truncate(time.Millisecond)))
		}
		require.True(t, slices.IsSortedFunc(entries, func(a, b contenders.Entry) int { return int(a.Token - b.Token) }))
		head, err := contenders.Head(bubble.Minute(t), s, parent)
		require.NoError(t, err)
		require.Equal(t, want[0], head)
	})
}

func TestAMissingParentIsAnEmptyLine(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		require.Empty(t, read(t, s))
		head, err := contenders.Head(bubble.Minute(t), s, parent)
		require.NoError(t, err)
		require.Empty(t, head)
	})
}

// B22: what is no contender's is not looked at.
func TestB22_ForeignZnodesAreIgnored(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		contender := stand(t, s, "")
		for _, name := range []string{"foo", "_c_x", "lock-", "lock-x", "limit"} {
			_, err := s.Create(bubble.Minute(t), parent+"/"+name, nil)
			require.NoError(t, err)
		}
		t.Server.ClearJournal()
		require.Equal(t, []string{contender}, paths(read(t, s)))
		for _, q := range t.Server.Journal() {
			require.False(t, q.Op == zktest.OpGetData && q.Path != contender, q.Path)
		}
	})
}

// B20, B21: at the end of the numbers, order is that of creation.
func TestB20_OrderAtTheEndOfTheNumbers(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		want := []string{stand(t, s, "")}
		for _, next := range []int32{2146999999, 2147483646} {
			require.NoError(t, t.Server.SetSequence(parent, next))
			for range 3 { // the counter sticks at 2147483647
				want = append(want, stand(t, s, ""))
			}
		}
		require.Equal(t, want, paths(read(t, s)))
		for range want {
			head, err := contenders.Head(bubble.Minute(t), s, parent)
			require.NoError(t, err)
			require.Equal(t, want[0], head)
			require.NoError(t, s.Delete(bubble.Minute(t), want[0], -1))
			want = want[1:]
		}
	})
}

// B36: a contender that leaves between the listing and the reading is left out.
func TestB36_AContenderLeavesMeanwhile(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		first, second := stand(t, other, ""), stand(t, s, "")
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == first {
				t.Server.Expire(other.Status().SessionID)
			}
			return zktest.Pass
		})()
		require.Equal(t, []string{second}, paths(read(t, s)))
	})
}

// Since 3.8.4 a server tells no more of it than that it stands.
func TestWhoMayNotReadTheDataStillSeesTheContender(t *testing.T) {
	t.Parallel()
	for _, version := range zktest.Versions() {
		t.Run(version, func(t *testing.T) { seesWhatMayNotBeRead(t, version) })
	}
}

func seesWhatMayNotBeRead(t *testing.T, version string) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		path := stand(t, s, "secret")
		_, err := s.SetACL(bubble.Minute(t), path, session.AnyoneACL(session.PermAdmin), -1)
		require.NoError(t, err)
		entries := read(t, s)
		require.Equal(t, []string{path}, paths(entries))
		require.Nil(t, entries[0].Data)
		require.True(t, entries[0].Unread)
		if version == "3.8.0" {
			require.Positive(t, entries[0].Token)
			require.Equal(t, s.Status().SessionID, entries[0].SessionID)
			return
		}
		require.Zero(t, entries[0].Token)
		require.Zero(t, entries[0].SessionID)
		head, err := contenders.Head(bubble.Minute(t), s, parent)
		require.NoError(t, err)
		require.Equal(t, path, head)

		require.NoError(t, t.Server.SetSequence(parent, math.MaxInt32-1)) // here only the Czxids tell the order
		stand(t, s, "")
		_, err = contenders.Read(bubble.Minute(t), s, parent)
		require.ErrorIs(t, err, session.ErrNoAuth, "what cannot be known is told")
		_, err = contenders.Head(bubble.Minute(t), s, parent)
		require.ErrorIs(t, err, session.ErrNoAuth)
	}, zktest.WithVersion(version))
}

func TestAnErrorEndsTheReading(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		for range 40 {
			stand(t, s, "")
		}
		remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path[len(q.Path)-1] == '7' {
				return zktest.Fail(zktest.ErrBadArguments)
			}
			return zktest.Pass
		})
		_, err := contenders.Read(bubble.Minute(t), s, parent)
		require.Error(t, err)
		require.NotErrorIs(t, err, session.ErrNoNode)
		remove()
		require.Len(t, read(t, s), 40)
		require.NoError(t, s.Close(bubble.Minute(t)))
		_, err = contenders.Read(bubble.Minute(t), s, parent)
		require.ErrorIs(t, err, session.ErrClosed)
	})
}
