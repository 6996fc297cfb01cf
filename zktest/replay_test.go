package zktest_test

// Scenarios that repeat: WithReplay.

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/zksession"
)

// contend acquires a lock again and again, and holds it for a second, until the lock is closed.
func contend(l *lock.Lock) {
	for {
		l.Acquire()
		select {
		case grant := <-l.Acquired():
			select {
			case <-time.After(time.Second):
				_ = grant.Release(context.Background())
			case <-grant.Done():
			}
		case <-l.Done():
			return
		}
	}
}

// theJournal is sorted as docs/testing.md prints it.
func theJournal(server *zktest.Server) []zktest.Request {
	journal := server.Journal()
	slices.SortStableFunc(journal, func(a, b zktest.Request) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Xid, b.Xid))
	})
	return journal
}

// aScenario runs three contenders on three servers. Two of them are cut off for longer than their
// sessions live, until one instant; then the session of the third expires. It returns the journal,
// sorted by instant, session and xid.
func aScenario(t *testing.T, opts ...zktest.Option) (journal []zktest.Request) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, append(opts, zktest.WithServers(3))...)
		var sessions []*session.Session
		for range 3 {
			s := zksession.Open(t, srv, session.WithTimeout(6*time.Second))
			l, err := lock.New(s, "/locks/orders")
			require.NoError(t, err)
			go contend(l) // ends with the lock, which ends with the session
			sessions = append(sessions, s)
		}
		time.Sleep(10 * time.Second)
		heal, healToo := srv.Partition(sessions[0].Status().SessionID), srv.Partition(sessions[1].Status().SessionID)
		time.Sleep(20 * time.Second)
		heal()
		healToo()
		time.Sleep(10 * time.Second)
		srv.Expire(sessions[2].Status().SessionID)
		time.Sleep(10 * time.Second)
		journal = theJournal(srv)
	})
	return journal
}

func TestAScenarioRepeats(t *testing.T) {
	t.Parallel()
	one := aScenario(t, zktest.WithReplay(7))
	require.Greater(t, len(one), 300)
	at := map[time.Time]int64{}
	for _, r := range one {
		other, some := at[r.Time]
		require.False(t, some && other != r.SessionID, "two sessions at %v", r.Time)
		at[r.Time] = r.SessionID
	}
	for range 19 {
		require.Equal(t, one, aScenario(t, zktest.WithReplay(7)))
	}
	require.NotEqual(t, one, aScenario(t, zktest.WithReplay(8)))
}

// What a recipe does some milliseconds after something is not done at the instant at which a test
// does something so many milliseconds after it: a lock reads its znode 5 ms after the grant.
func TestAScenarioOfWholeMillisecondsRepeats(t *testing.T) {
	t.Parallel()
	run := func() (journal []zktest.Request) {
		synctest.Test(t, func(t *testing.T) {
			srv := zktest.Start(t, zktest.WithReplay(7))
			l, err := lock.New(zksession.Open(t, srv), "/locks/orders")
			require.NoError(t, err)
			for range 20 {
				l.Acquire()
				grant := <-l.Acquired()
				time.Sleep(5 * time.Millisecond)
				require.NoError(t, grant.Release(t.Context()))
			}
			journal = theJournal(srv)
		})
		return journal
	}
	one := run()
	for range 19 {
		require.Equal(t, one, run())
	}
}

// A session draws from a stream of its own, so it does not matter what others do.
func TestASessionDrawsWhatItDrewWithoutTheOthers(t *testing.T) {
	t.Parallel()
	names := func(others int) (name string) {
		synctest.Test(t, func(t *testing.T) {
			srv := zktest.Start(t, zktest.WithReplay(1))
			s := zksession.Open(t, srv)
			for range others {
				_, err := zksession.Open(t, srv).Create(t.Context(), "/other-", nil, session.Protected(), session.Sequential())
				require.NoError(t, err)
			}
			made, err := s.Create(t.Context(), "/own", nil, session.Protected())
			require.NoError(t, err)
			name = made
		})
		return name
	}
	require.Equal(t, names(0), names(3))
}

func TestAReplayThatCanNotRepeatIsRefused(t *testing.T) {
	t.Parallel()
	_, err := zktest.New(zktest.WithReplay(1))
	require.ErrorContains(t, err, "WithReplay(1): it is given once, not 0, and in a testing/synctest bubble")
	synctest.Test(t, func(t *testing.T) {
		for says, opts := range map[string][]zktest.Option{
			"WithReplay(0): ":                          {zktest.WithReplay(0)},
			"WithReplay(2): ":                          {zktest.WithReplay(1), zktest.WithReplay(2)},
			"WithAddress in a testing/synctest bubble": {zktest.WithReplay(1), zktest.WithAddress("127.0.0.1:0")},
		} {
			_, err := zktest.New(opts...)
			require.ErrorContains(t, err, says)
		}
	})
}
