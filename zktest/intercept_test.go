package zktest_test

// Requests that are intercepted, and the journal of those that were received.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestAVerdictDecidesWhatBecomesOfARequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		verdict zktest.Verdict
		check   func(t *testing.T, s *zktest.Server, c *raw)
		exists  bool
	}{
		{name: "pass", verdict: zktest.Pass, exists: true, check: func(t *testing.T, _ *zktest.Server, c *raw) {
			c.must(t, create("/a", 0))
		}},
		{name: "drop the request", verdict: zktest.DropRequest, check: func(t *testing.T, _ *zktest.Server, c *raw) {
			require.NoError(t, c.send(create("/a", 0)))
			c.silent(t, time.Second)
			c.ping(t) // the connection lives on
		}},
		{name: "drop the reply", verdict: zktest.DropReply, exists: true, check: func(t *testing.T, _ *zktest.Server, c *raw) {
			require.NoError(t, c.send(create("/a", 0)))
			c.silent(t, time.Second)
			c.ping(t)
		}},
		{name: "cut before", verdict: zktest.CutBefore, check: func(t *testing.T, _ *zktest.Server, c *raw) {
			_, err := c.do(create("/a", 0))
			require.Error(t, err)
		}},
		{name: "cut after", verdict: zktest.CutAfter, exists: true, check: func(t *testing.T, _ *zktest.Server, c *raw) {
			_, err := c.do(create("/a", 0))
			require.Error(t, err)
		}},
		{name: "delay", verdict: zktest.Delay(3 * time.Second), exists: true, check: func(t *testing.T, _ *zktest.Server, c *raw) {
			before := time.Now()
			require.NoError(t, c.send(create("/a", 0)))
			c.silent(t, 3*time.Second-1)
			_, err := c.frame()
			require.Error(t, err) // the deadline of silent
			c.conn.SetDeadline(time.Time{})
			_, err = c.frame()
			require.NoError(t, err)
			require.Equal(t, 3*time.Second, time.Since(before))
		}},
		{name: "fail", verdict: zktest.Fail(zktest.ErrThrottled), check: func(t *testing.T, _ *zktest.Server, c *raw) {
			p, err := c.do(create("/a", 0))
			require.NoError(t, err)
			require.Equal(t, zktest.ErrThrottled, p.Err)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				one, other := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
				remove := s.Intercept(func(q *zktest.Request) zktest.Verdict {
					if q.Op == zktest.OpCreate && q.Path == "/a" && string(q.Data) == "data" && q.SessionID == one.session {
						return c.verdict
					}
					return zktest.Pass
				})
				c.check(t, s, one)
				require.Equal(t, c.exists, other.exists(t, "/a"))
				remove()
				other.must(t, create("/b", 0))
			})
		})
	}
}

func TestHandshakesCanBeIntercepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		verdict zktest.Verdict
		check   func(t *testing.T, began time.Time, old, got *raw, err error)
	}{
		{"drop", zktest.DropRequest, func(t *testing.T, began time.Time, _, _ *raw, err error) {
			require.ErrorContains(t, err, "timeout")
			require.Equal(t, 10*time.Second, time.Since(began))
		}},
		{"drop the reply", zktest.DropReply, func(t *testing.T, _ time.Time, _, _ *raw, err error) { require.ErrorContains(t, err, "timeout") }},
		{"cut before", zktest.CutBefore, func(t *testing.T, _ time.Time, _, _ *raw, err error) { require.Error(t, err) }},
		{"cut after", zktest.CutAfter, func(t *testing.T, _ time.Time, _, _ *raw, err error) { require.Error(t, err) }},
		{"expired", zktest.Fail(zktest.ErrSessionExpired), func(t *testing.T, _ time.Time, _, got *raw, err error) {
			require.NoError(t, err)
			require.Zero(t, got.session)
		}},
		{"slow", zktest.Delay(5 * time.Second), func(t *testing.T, began time.Time, old, got *raw, err error) {
			require.NoError(t, err)
			require.Equal(t, old.session, got.session)
			require.Equal(t, 5*time.Second, time.Since(began))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				old := client(t, s, 30*time.Second)
				s.Intercept(func(q *zktest.Request) zktest.Verdict {
					if q.Op == zktest.OpConnect && q.SessionID == old.session {
						return c.verdict
					}
					return zktest.Pass
				})
				began := time.Now()
				got, err := resume(s, old, 0)
				c.check(t, began, old, got, err)
			})
		})
	}
}

func TestAnInterceptorMayCallTheServer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		s.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpCreate {
				s.Expire(q.SessionID)
			}
			return zktest.Pass
		})
		_, err := c.do(create("/a", jute.FlagEphemeral))
		require.Error(t, err)
		require.False(t, client(t, s, 10*time.Second).exists(t, "/a"))
	})
}

func TestTheJournalHasEachRequestWithWhatCameOfIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c, other := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		s.ClearJournal()
		c.must(t, jute.Request{Op: jute.OpGetChildren2, Path: "/", Watch: true})
		other.must(t, jute.Request{Op: jute.OpGetChildren, Path: "/", Watch: true})
		p := other.must(t, create("/a-", jute.FlagSequential))
		_, err := other.do(create("/x/y", 0))
		require.NoError(t, err)
		c.must(t, jute.Request{Op: jute.OpMulti, Ops: []jute.Request{create("/m", 0)}})

		j := s.Journal()
		require.Len(t, j, 5)
		for i := range j {
			require.EqualValues(t, i+3, j[i].K)
			require.True(t, j[i].Served)
			require.True(t, j[i].Replied)
		}
		require.Equal(t, zktest.OpGetChildren2, j[0].Op)
		require.True(t, j[0].Watch)
		require.Equal(t, c.session, j[0].SessionID)
		require.Equal(t, zktest.OpCreate, j[2].Op)
		require.Equal(t, "/a-", j[2].Path)
		require.Equal(t, "/a-0000000000", j[2].Created)
		require.Equal(t, p.Zxid, j[2].Zxid)
		require.Equal(t, 2, j[2].Fired, "one for each of the two watches")
		require.Equal(t, zktest.ErrNoNode, j[3].Err)
		require.Equal(t, "/m", j[4].Ops[0].Path)
	})
}

func TestTheJournalIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		for range 10 {
			c.ping(t)
		}
		c.must(t, create("/last", 0))
		j := s.Journal()
		require.Len(t, j, 3)
		require.Equal(t, "/last", j[2].Path)
		require.EqualValues(t, 12, j[2].K)
	}, zktest.WithJournal(3))
}
