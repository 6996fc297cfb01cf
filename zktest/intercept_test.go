package zktest_test

// Requests that are intercepted, and the journal of those that were received.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// What becomes of a create within a second, and after that; and of the handshake of a client that
// comes back.
func TestAVerdictDecidesWhatBecomesOfARequest(t *testing.T) {
	const second = time.Second
	type row struct {
		verdict   zktest.Verdict
		now       string // of the create
		lives     bool   // the connection
		exists    bool
		handshake string
		takes     time.Duration // the handshake
	}
	each(t, map[string]row{
		"pass":             {zktest.Pass, "fine", true, true, "fine", 0},
		"drop the request": {zktest.DropRequest, "silence", true, false, "silence", 10 * second},
		"drop the reply":   {zktest.DropReply, "silence", true, true, "silence", 10 * second},
		"cut before":       {zktest.CutBefore, "closed", false, false, "closed", 0},
		"cut after":        {zktest.CutAfter, "closed", false, true, "closed", 0},
		"delay":            {zktest.Delay(3 * second), "silence", true, true, "fine", 3 * second},
		"fail":             {zktest.Fail(zktest.ErrSessionExpired), "fine", true, false, "over", 0},
	}, func(t *testing.T, s *zktest.Server, c row) {
		one, back, other := client(t, s, 30*time.Second), client(t, s, 30*time.Second), client(t, s, 30*time.Second)
		remove := s.Intercept(func(q *zktest.Request) zktest.Verdict {
			switch {
			case q.Op == zktest.OpCreate && q.Path == "/a" && string(q.Data) == "data" && q.SessionID == one.session:
				return c.verdict
			case q.Op == zktest.OpConnect && q.SessionID == back.session:
				return c.verdict
			}
			return zktest.Pass
		})
		began := time.Now()
		now, done := hidden(one, create("/a", 0))
		require.Equal(t, c.now, now)
		if c.verdict == zktest.Delay(3*second) {
			require.NoError(t, done())
			require.Equal(t, 3*second, time.Since(began))
		}
		require.Equal(t, c.exists, other.exists(t, "/a"))
		_, err := one.conn.Write(nil)
		require.Equal(t, c.lives, err == nil)

		began = time.Now()
		again, err := resume(s, back, 0)
		outcome := ending(err)
		if err == nil && again.session == 0 {
			outcome = "over"
		}
		require.Equal(t, c.handshake, outcome)
		require.Equal(t, c.takes, time.Since(began))
		remove()
		other.must(t, create("/b", 0))
	})
}

func TestAnInterceptorMayCallTheServer(t *testing.T) {
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
