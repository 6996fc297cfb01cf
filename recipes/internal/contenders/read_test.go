package contenders_test

// A queue of contenders that the test makes, observed or read once; and one contender that is
// followed until it is gone.

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

const parent = "/locks/a"

// inBubble runs a test in virtual time, beside others.
func inBubble(t *testing.T, test func(t *bubble.World)) {
	t.Helper()
	t.Parallel()
	bubble.Run(t, test)
}

// enter makes a contender and returns its path.
func enter(t testing.TB, s *session.Session, data string) string {
	t.Helper()
	path, err := s.Create(bubble.Minute(t), parent+"/lock-", []byte(data), session.Protected(), session.Ephemeral(), session.Sequential(), session.Parents())
	require.NoError(t, err)
	return path
}

func read(t testing.TB, s *session.Session) []contenders.Entry {
	t.Helper()
	entries, err := contenders.Read(bubble.Minute(t), s, parent)
	require.NoError(t, err)
	return entries
}

func paths(entries []contenders.Entry) []string {
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Path)
	}
	return all
}

func TestReadIsInOrder(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		began := time.Now()
		other := t.Session()
		var want []string
		for i := range 40 { // more than are read at a time
			by := []*session.Session{s, other}[i%2]
			want = append(want, enter(t, by, string(rune('A'+i))))
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

func TestAMissingParentIsAnEmptyQueue(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		require.Empty(t, read(t, s))
		head, err := contenders.Head(bubble.Minute(t), s, parent)
		require.NoError(t, err)
		require.Empty(t, head)
	})
}

// B22: a znode that is no contender is not read.
func TestB22_ForeignZnodesAreIgnored(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		contender := enter(t, s, "")
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

// B20, B21: at the end of the sequence numbers the order is that of creation.
func TestB20_OrderAtTheEndOfTheNumbers(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		want := []string{enter(t, s, "")}
		for _, next := range []int32{2146999999, 2147483646} {
			require.NoError(t, t.Server.SetSequence(parent, next))
			for range 3 { // the counter sticks at 2147483647
				want = append(want, enter(t, s, ""))
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

// B36: a contender that leaves between the listing and the read is left out.
func TestB36_AContenderLeavesMeanwhile(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		first, second := enter(t, other, ""), enter(t, s, "")
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == first {
				t.Server.Expire(other.Status().SessionID)
			}
			return zktest.Pass
		})()
		require.Equal(t, []string{second}, paths(read(t, s)))
	})
}

// Since 3.8.4 a server tells only that such a znode exists.
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
		path := enter(t, s, "secret")
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
		enter(t, s, "")
		_, err = contenders.Read(bubble.Minute(t), s, parent)
		require.ErrorIs(t, err, session.ErrNoAuth, "the order cannot be known")
		_, err = contenders.Head(bubble.Minute(t), s, parent)
		require.ErrorIs(t, err, session.ErrNoAuth)
	}, zktest.WithVersion(version))
}

// Readers hold together. The client that asks waits too, and does not count itself.
func TestHolderCountsTheOthersThatWait(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s, other := t.Session(), t.Session()
		for _, row := range []struct {
			enters string
			wait   int
		}{{"read-", 0}, {"read-", 0}, {"read-", 0}, {"write-", 0}, {"read-", 1}} {
			_, err := other.Create(bubble.Minute(t), parent+"/"+row.enters, nil, session.Ephemeral(), session.Sequential(), session.Parents())
			require.NoError(t, err)
			h, err := contenders.Holder(bubble.Minute(t), s, parent, func(e contenders.Entry) session.Identity { return e.Owner })
			require.NoError(t, err)
			require.Equal(t, row.wait, h.Waiting)
		}
	})
}

func TestAnErrorEndsTheReading(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		for range 40 {
			enter(t, s, "")
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

func TestFollowUntilItIsGone(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		a := enter(t, other, "a")
		states := contenders.Follow(bubble.Minute(t), s, a)
		d := bubble.Get(t, states)
		require.True(t, d.Exists && !d.Stale)
		require.Equal(t, "a", string(d.Bytes))
		require.Equal(t, other.Status().SessionID, d.Stat.EphemeralOwner)
		_, err := other.Set(bubble.Minute(t), a, []byte("b"), -1)
		require.NoError(t, err)
		require.Equal(t, "b", string(bubble.Get(t, states).Bytes))
		require.NoError(t, other.Delete(bubble.Minute(t), a, -1))
		require.False(t, bubble.Get(t, states).Exists)
		_, open := <-states
		require.False(t, open)

		require.False(t, bubble.Get(t, contenders.Follow(bubble.Minute(t), s, a)).Exists, "it was gone already")
	})
}

func TestFollowTellsStalenessAndGoesOnInTheNextEpoch(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		a := enter(t, other, "a")
		states := contenders.Follow(t.Context(), s, a)
		require.False(t, bubble.Get(t, states).Stale)
		heal := t.Server.Partition(s.Status().SessionID)
		d := bubble.Get(t, states)
		require.True(t, d.Stale && d.Exists)
		_, err := other.Set(bubble.Minute(t), a, []byte("b"), -1)
		require.NoError(t, err)
		t.Server.Expire(s.Status().SessionID)
		<-time.After(10 * time.Minute)
		heal()
		for d.Stale {
			d = bubble.Get(t, states)
		}
		require.Equal(t, "b", string(d.Bytes))
		t.Server.Expire(other.Status().SessionID)
		require.False(t, bubble.Get(t, states).Exists)
	})
}

// A contender that may not be read is Unread, once, and is read again after pauses.
func TestFollowTriesAgain(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a := enter(t, s, "a")
		tries := 0
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == a {
				if tries++; tries < 8 {
					return zktest.Fail(zktest.ErrNoAuth)
				}
			}
			return zktest.Pass
		})()
		states := contenders.Follow(bubble.Minute(t), s, a)
		require.Equal(t, contenders.Observation{Data: session.Data{Exists: true}, Unread: true}, bubble.Get(t, states))
		d := bubble.Get(t, states)
		require.True(t, d.Exists && !d.Unread)
		require.Equal(t, "a", string(d.Bytes))
		require.Equal(t, 8, tries)
	})
}

func TestFollowEndsWithItsContextAndItsSession(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a := enter(t, s, "a")
		ctx, cancel := context.WithCancel(bubble.Minute(t))
		states := contenders.Follow(ctx, s, a)
		bubble.Get(t, states)
		cancel()
		_, open := <-states
		require.False(t, open)
		states = contenders.Follow(bubble.Minute(t), s, a)
		require.NoError(t, s.Close(bubble.Minute(t)))
		for range states { // until it closes
		}
		_, open = <-contenders.Follow(bubble.Minute(t), s, a)
		require.False(t, open)
	})
}

func TestObserveFollowsTheQueue(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		ctx, cancel := context.WithCancel(bubble.Minute(t))
		views := contenders.Observe(ctx, s, parent)
		none := bubble.Get(t, views)
		require.True(t, len(none.Entries) == 0 && !none.Stale && !none.Delays, "there is not even a parent")
		other := t.Session()
		a := enter(t, other, "a")
		require.Equal(t, []string{a}, paths(bubble.Get(t, views).Entries))
		b := enter(t, other, "b")
		require.Equal(t, []string{a, b}, paths(bubble.Get(t, views).Entries))
		t.Server.ClearJournal()
		require.NoError(t, other.Delete(bubble.Minute(t), a, -1))
		v := bubble.Get(t, views)
		require.Equal(t, []string{b}, paths(v.Entries))
		require.Equal(t, "b", string(v.Entries[0].Data))
		for _, q := range t.Server.Journal() {
			require.NotEqual(t, zktest.OpGetData, q.Op, "a contender is read once")
		}
		require.NoError(t, other.DeleteAll(bubble.Minute(t), "/locks"))
		for len(v.Entries) > 0 {
			v = bubble.Get(t, views)
		}
		c := enter(t, other, "c")
		for len(v.Entries) == 0 {
			v = bubble.Get(t, views)
		}
		require.Equal(t, []string{c}, paths(v.Entries))
		cancel()
		synctest.Wait()
		for range views { // until it closes
		}
	})
}

func TestObserveTellsStaleness(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		other := t.Session()
		a := enter(t, other, "a")
		views := contenders.Observe(context.WithoutCancel(bubble.Minute(t)), s, parent)
		require.Equal(t, []string{a}, paths(bubble.Get(t, views).Entries))
		heal := t.Server.Partition(s.Status().SessionID)
		v := bubble.Get(t, views)
		require.True(t, v.Stale)
		require.Equal(t, []string{a}, paths(v.Entries))
		t.Server.Expire(s.Status().SessionID)
		b := enter(t, other, "b")
		<-time.After(10 * time.Minute)
		heal()
		for v.Stale {
			v = bubble.Get(t, views)
		}
		require.Equal(t, []string{a, b}, paths(v.Entries))
		require.NoError(t, s.Close(bubble.Minute(t)))
		for range views { // until it closes
		}
	})
}

// A failed read is repeated after pauses, until it succeeds.
func TestObserveTriesAgain(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a := enter(t, s, "a")
		tries := 0
		defer t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpGetData && q.Path == a {
				if tries++; tries < 8 {
					return zktest.Fail(zktest.ErrBadArguments)
				}
			}
			return zktest.Pass
		})()
		views := contenders.Observe(bubble.Minute(t), s, parent)
		require.Equal(t, []string{a}, paths(bubble.Get(t, views).Entries))
		require.Equal(t, 8, tries)
	})
}
