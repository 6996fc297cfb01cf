package zktest_test

// Each fault as clients see it: one table for what it hides and for its end, and the stories that a
// table does not tell. Intercepted requests, and the journal.

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// fate is what becomes of the requests of clients of a server within a second: "fine" if they are
// answered, "silence", or "closed".
type fate struct {
	ping, read, write string
	made              bool   // others see what was written
	resumes           string // a session whose connection was lost: "fine", "over", "another", "refused", or as above
}

// broken is the fate at connections that end, hides at a silent fault.
func broken(resumes string) fate { return fate{"closed", "closed", "closed", false, resumes} }
func hides(made bool) fate       { return fate{"silence", "silence", "silence", made, "silence"} }

// hidden begins a request, and says what became of it within a second. done says it later.
func hidden(c *raw, q jute.Request) (now string, done func() error) {
	ended := make(chan error, 1)
	qs := []jute.Request{q}
	err := c.post(qs)
	c.conn.SetDeadline(time.Time{})
	go func() { // ends with the answer, or with the server
		if err == nil {
			_, err = c.collect(qs)
		}
		ended <- err
	}()
	time.Sleep(time.Second)
	select {
	case err := <-ended:
		return ending(err), func() error { return err }
	default:
		return "silence", func() error { return <-ended }
	}
}

func TestWhatAClientSeesOfEachFault(t *testing.T) {
	ofAll := func(do func(s *zktest.Server, id int64) func()) func(s *zktest.Server, ids []int64) func() {
		return func(s *zktest.Server, ids []int64) func() {
			var heals []func()
			for _, id := range ids {
				heals = append(heals, do(s, id))
			}
			return func() {
				for _, heal := range heals {
					heal()
				}
			}
		}
	}
	nothing := func() {}
	type row struct {
		fault  func(s *zktest.Server, ids []int64) (heal func())
		want   fate
		healed string // what becomes of the write then, at once
		stays  bool   // the session
	}
	each(t, map[string]row{
		"disconnected": {ofAll(func(s *zktest.Server, id int64) func() { s.Disconnect(id); return nothing }), broken("fine"), "closed", true},
		"expired":      {ofAll(func(s *zktest.Server, id int64) func() { s.Expire(id); return nothing }), broken("over"), "closed", false},
		"expired silently, as ClickHouse Keeper does it": {
			ofAll(func(s *zktest.Server, id int64) func() { s.ExpireSilently(id); return nothing }),
			broken("another"), "closed", false,
		},
		"partitioned":                           {ofAll((*zktest.Server).Partition), hides(false), "fine", true},
		"partitioned, to the server":            {ofAll(func(s *zktest.Server, id int64) func() { return s.PartitionOneWay(id, zktest.ToServer) }), hides(false), "fine", true},
		"partitioned, from the server":          {ofAll(func(s *zktest.Server, id int64) func() { return s.PartitionOneWay(id, zktest.FromServer) }), hides(true), "fine", true},
		"the host partitioned":                  {func(s *zktest.Server, _ []int64) func() { return s.Host("h").Partition() }, hides(false), "fine", true},
		"the host partitioned, from the server": {func(s *zktest.Server, _ []int64) func() { return s.Host("h").PartitionOneWay(zktest.FromServer) }, hides(true), "fine", true},
		"the server isolated":                   {func(s *zktest.Server, _ []int64) func() { return s.Isolate() }, fate{"fine", "fine", "silence", false, "silence"}, "fine", true},
		"the server isolated, until it gives up": {func(s *zktest.Server, _ []int64) func() {
			defer time.Sleep(time.Second)
			return s.IsolateServer(0, time.Second)
		}, broken("refused"), "closed", true},
		"the server held up": {func(s *zktest.Server, _ []int64) func() { return s.HoldUp(0) }, fate{"fine", "fine", "silence", false, "fine"}, "fine", true},
		"the server stopped": {func(s *zktest.Server, _ []int64) func() { s.Stop(0); return func() { s.Continue(0) } }, hides(false), "fine", true},
		"the server killed":  {func(s *zktest.Server, _ []int64) func() { s.Kill(0); return func() { _ = s.Restart(0) } }, broken("refused"), "closed", true},
	}, func(t *testing.T, s *zktest.Server, c row) {
		dial, other := s.Host("h").Dialer(), client(t, s, 40*time.Second, 1)
		var all []*raw
		var ids []int64
		for range 4 {
			one, err := resumeFrom(dial, s.Hosts()[0], newcomer(30*time.Second))
			require.NoError(t, err)
			all, ids = append(all, one), append(ids, one.session)
		}
		gone := all[3]
		gone.must(t, create("/held", jute.FlagEphemeral))
		gone.conn.Close()
		synctest.Wait()
		heal := c.fault(s, ids)
		var got fate
		var written func() error
		got.write, written = hidden(all[2], create("/made", 0))
		got.read, _ = hidden(all[1], jute.Request{Op: jute.OpExists, Path: "/"})
		got.ping, _ = hidden(all[0], jute.Request{Xid: jute.XidPing, Op: jute.OpPing})
		got.made = other.exists(t, "/made")
		again, err := resumeFrom(dial, s.Hosts()[0], gone)
		switch got.resumes = ending(err); {
		case err != nil && strings.Contains(err.Error(), "refused"):
			got.resumes = "refused"
		case err == nil && again.session == 0:
			got.resumes = "over"
		case err == nil && again.session != gone.session:
			got.resumes = "another"
		}
		require.Equal(t, c.want, got)
		before := time.Now()
		heal()
		heal() // twice is once
		require.Equal(t, c.healed, ending(written()))
		require.Equal(t, before, time.Now())
		_, ok := alive(s, gone)
		require.Equal(t, c.stays, ok)
		require.Equal(t, c.stays, other.exists(t, "/held"))
		require.Equal(t, got.made || c.healed == "fine", other.exists(t, "/made"))
		again, err = resumeFrom(dial, s.Hosts()[0], gone)
		require.NoError(t, err)
		require.Equal(t, c.stays, again.session == gone.session)
	}, zktest.WithServers(3))
}

// Partitions may overlap: when one is healed, the others still cut the client off.
func TestPartitionsOverlap(t *testing.T) {
	type cut = func(s *zktest.Server, id int64) (heal func())
	host := func(s *zktest.Server, _ int64) func() { return s.Host("h").Partition() }
	way := func(d zktest.Direction) cut {
		return func(s *zktest.Server, id int64) func() { return s.PartitionOneWay(id, d) }
	}
	each(t, map[string]struct{ first, second cut }{
		"of the host, twice":             {host, host},
		"of the host and of the session": {host, (*zktest.Server).Partition},
		"of the session and of the host": {(*zktest.Server).Partition, host},
		"to the server and from it":      {way(zktest.ToServer), way(zktest.FromServer)},
		"from the server and to it":      {way(zktest.FromServer), way(zktest.ToServer)},
		"to the server, and both ways":   {way(zktest.ToServer), (*zktest.Server).Partition},
	}, func(t *testing.T, s *zktest.Server, cuts struct{ first, second cut }) {
		c, err := resumeFrom(s.Host("h").Dialer(), s.Hosts()[0], newcomer(30*time.Second))
		require.NoError(t, err)
		healFirst := cuts.first(s, c.session)
		healSecond := cuts.second(s, c.session)
		healFirst()
		healFirst() // a second time is nothing
		now, answered := hidden(c, jute.Request{Op: jute.OpExists, Path: "/"})
		require.Equal(t, "silence", now)
		healSecond()
		require.NoError(t, answered())
		require.True(t, c.exists(t, "/"))
	})
}

// A client that is partitioned off does not see what the server does meanwhile.
func TestAPartitionHidesThatAServerDied(t *testing.T) {
	each(t, map[string]func(s *zktest.Server, id int64){
		"killed":       func(s *zktest.Server, _ int64) { s.Kill(0) },
		"disconnected": func(s *zktest.Server, id int64) { s.Disconnect(id) },
		"expired":      func(s *zktest.Server, id int64) { s.Expire(id) },
	}, func(t *testing.T, s *zktest.Server, kill func(s *zktest.Server, id int64)) {
		c := client(t, s, 10*time.Second)
		heal := s.Partition(c.session)
		kill(s, c.session)
		c.silent(t, time.Minute)
		heal()
		c.conn.SetDeadline(time.Time{})
		_, err := c.frame()
		require.Error(t, err)
	})
}

// B75: a follower that lags shows what was, until a sync or a write.
func TestB75_AFollowerThatLagsShowsWhatWasUntilASyncOrAWrite(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		near, far := client(t, s, 10*time.Second, 1), client(t, s, 10*time.Second, 0)
		s.Lag(0, 2)
		for _, path := range []string{"/1", "/2", "/3"} {
			_, err := far.do(jute.Request{Op: jute.OpExists, Path: path, Watch: true})
			require.NoError(t, err)
			near.must(t, create(path, 0))
		}
		events, err := far.drain()
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.True(t, far.exists(t, "/1"))
		require.False(t, far.exists(t, "/2"))
		seen := far.seen

		far.must(t, jute.Request{Op: jute.OpSync, Path: "/"})
		events, err = far.drain()
		require.NoError(t, err)
		require.Len(t, events, 2)
		require.True(t, far.exists(t, "/3"))
		require.Equal(t, seen+2, far.seen)

		near.must(t, create("/4", 0))
		require.False(t, far.exists(t, "/4"))
		far.must(t, create("/5", 0))
		require.True(t, far.exists(t, "/4"), "a client sees its own writes, and what was before them")
		near.must(t, create("/6", 0))
		s.Lag(0, 0)
		require.True(t, far.exists(t, "/6"))
	}, zktest.WithServers(2))
}

// A leader tells its followers to commit before it does so itself, and answers a sync of its own
// clients from its own tree. It shows the new state behind a transaction at the latest: one that
// only checks, one that fails, the opening of a session.
func TestALeaderThatLagsShowsWhatIsNewBehindATransactionAlone(t *testing.T) {
	check := func(path string) jute.Request {
		return jute.Request{Op: jute.OpMulti, Ops: []jute.Request{{Op: jute.OpCheck, Path: path, Version: -1}}}
	}
	bubble(t, func(t *testing.T, s *zktest.Server) {
		near, far := client(t, s, 10*time.Second, 0), client(t, s, 10*time.Second, 2)
		for name, ordered := range map[string]func(){
			"a check":              func() { far.must(t, check("/")) },
			"a check that fails":   func() { far.must(t, check("/missing")) },
			"a write that fails":   func() { _, _ = far.do(jute.Request{Op: jute.OpDelete, Path: "/missing", Version: -1}) },
			"a session is opened":  func() { client(t, s, 10*time.Second, 2) },
			"its commits are done": func() { s.Lag(2, 0) },
		} {
			path := "/" + name
			s.Lag(2, 10)
			far.must(t, jute.Request{Op: jute.OpExists, Path: "/", Watch: true})
			near.must(t, create(path, 0))
			require.True(t, near.exists(t, path))
			far.must(t, jute.Request{Op: jute.OpSync, Path: path})
			require.False(t, far.exists(t, path), "behind a sync")
			again, err := resume(s, far, 2)
			require.NoError(t, err)
			far = again
			require.False(t, far.exists(t, path), "on another connection")
			ordered()
			require.True(t, far.exists(t, path), "behind this: %s", name)
		}
	}, zktest.WithServers(3))
}

// took is how long a ping takes, there and back.
func took(t *testing.T, c *raw) time.Duration {
	t.Helper()
	began := time.Now()
	c.ping(t)
	return time.Since(began)
}

// A session and a host may be slow; all that covers a connection adds up.
func TestSlowdownsAddUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		slow, quick := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		heal := s.Slow(slow.session, 50*time.Millisecond)
		require.Equal(t, 100*time.Millisecond, took(t, slow), "there and back")
		require.Zero(t, took(t, quick))

		// An event takes the way too.
		quick.must(t, create("/a", 0))
		slow.must(t, jute.Request{Op: jute.OpExists, Path: "/a", Watch: true})
		began := time.Now()
		quick.must(t, jute.Request{Op: jute.OpDelete, Path: "/a", Version: -1})
		_, err := slow.frame()
		require.NoError(t, err)
		require.Equal(t, 50*time.Millisecond, time.Since(began))

		// It stays slow over a new connection, and another slowdown comes on top.
		slow, err = resume(s, slow, 0)
		require.NoError(t, err)
		require.Equal(t, 100*time.Millisecond, took(t, slow))
		defer s.Slow(slow.session, time.Second)()
		require.Equal(t, 2100*time.Millisecond, took(t, slow))
		heal()
		heal()
		require.Equal(t, 2*time.Second, took(t, slow))
		defer s.Host("far").Slow(time.Second)()
		began = time.Now()
		far, err := resumeFrom(s.Host("far").Dialer(), s.Hosts()[0], newcomer(30*time.Second))
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(began), "the handshake too")
		require.Equal(t, 2*time.Second, took(t, far))
	})
}

// The outcome of a create within a second, and after that; and of the handshake of a client that
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
