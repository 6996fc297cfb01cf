package zktest_test

// What makes no sense is said, with the name of what was called.

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

func TestOptionsThatMakeNoSenseAreReported(t *testing.T) {
	t.Parallel()
	for says, opt := range map[string]zktest.Option{
		"version \"3.7\": not one of 3.8.0, 3.8.4":       zktest.WithVersion("3.7"),
		"WithTick(1ns): less than 1ms":                   zktest.WithTick(time.Nanosecond),
		"WithTick(0s): less than 1ms":                    zktest.WithTick(0),
		"session timeouts from 1m0s to 1s":               zktest.WithSessionTimeouts(time.Minute, time.Second),
		"WithSessionTimeouts(0s): less than 1ms":         zktest.WithSessionTimeouts(0, time.Second),
		"WithSessionTimeouts(1ns): less than 1ms":        zktest.WithSessionTimeouts(1, 1),
		"WithServers(0): less than 1":                    zktest.WithServers(0),
		"WithServers(-1): less than 1":                   zktest.WithServers(-1),
		"1000 servers":                                   zktest.WithServers(1000),
		"WithElection(-1ns): less than 0s":               zktest.WithElection(-1),
		"WithMaxPacket(0): less than 64":                 zktest.WithMaxPacket(0),
		"WithMaxConnections(-1): less than 0":            zktest.WithMaxConnections(-1),
		"WithJournal(-1): less than 0":                   zktest.WithJournal(-1),
		"WithContainerCheck(0s): less than 1ns":          zktest.WithContainerCheck(0),
		"WithAddress: an empty address":                  zktest.WithAddress("127.0.0.1:0", ""),
		"option 1 of 1 is nil":                           nil,
		"the tree to begin with: line 1: unexpected EOF": zktest.WithTree(`{"path":`),
	} {
		_, err := zktest.New(opt)
		require.Regexp(t, "^"+regexp.QuoteMeta(says), err.Error(), "it begins with no package")
		var r recorder
		r.run(func() { zktest.Start(&r, opt) })
		require.Contains(t, r.failed, "zktest.Start: "+says)
	}
}

// A session that has ended is no misuse: it may have ended just now.
func TestFaultsOfSessionsThatNeverWereFailTheTest(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(s *zktest.Server, id int64){
		"Expire":         (*zktest.Server).Expire,
		"ExpireSilently": (*zktest.Server).ExpireSilently,
		"Disconnect":     (*zktest.Server).Disconnect,
		"Partition":      func(s *zktest.Server, id int64) { s.Partition(id)() },
		"Slow":           func(s *zktest.Server, id int64) { s.Slow(id, time.Second)() },
		"ExpireAlone":    func(s *zktest.Server, id int64) { s.ExpireAlone(0, id) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				known := s.Join().SessionID()
				s.LoseSessions()
				fault(s, known)
				fault(s, 0) // a client that has no session yet
				for _, id := range []int64{known - 1, known + 1} {
					var r recorder
					r.run(func() {
						s := zktest.Start(&r)
						require.Equal(t, known, s.Join().SessionID(), "it began at the same instant")
						fault(s, id)
					})
					require.Contains(t, r.failed, "zktest: this server has never opened a session 0x")
				}
			})
		})
	}
}

func TestAClosedServerSaysSo(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	z := s.Znodes(t)
	require.NoError(t, z.Create("/a", nil))
	require.NoError(t, s.Close())
	for what, do := range map[string]func() error{
		"create":      func() error { return z.Create("/b", nil) },
		"set":         func() error { return z.Set("/a", nil) },
		"delete":      func() error { return z.Delete("/a") },
		"get":         func() error { _, err := z.Get("/a"); return err },
		"stat":        func() error { _, err := z.Stat("/a"); return err },
		"children of": func() error { _, err := z.Children("/"); return err },
		"":            func() error { return s.Load(`{"path":"/b"}`) },
	} {
		require.ErrorContains(t, do(), "closed", what)
		require.ErrorContains(t, do(), what)
	}
	var r recorder
	r.run(func() { s.Znodes(&r).Exists("/a") })
	require.Contains(t, r.failed, "closed")
}

func TestWhatIsNoPathIsSaid(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(z zktest.Znodes){
		"CheckAbsent": func(z zktest.Znodes) { z.CheckAbsent("locks/x") }, "a slash at its end": func(z zktest.Znodes) { z.CheckAbsent("/locks/x/") },
		"Exists": func(z zktest.Znodes) { z.Exists("") }, "Await": func(z zktest.Znodes) { z.Await(t.Context(), "locks/x") },
		"AwaitChildren": func(z zktest.Znodes) { z.AwaitChildren(t.Context(), "locks", 0) }, "a number below 0": func(z zktest.Znodes) { z.AwaitChildren(t.Context(), "/locks", -1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := zktest.Start(t)
			require.NoError(t, srv.Znodes(t).Create("/locks/x", nil))
			var r recorder
			r.run(func() { ask(srv.Znodes(&r)) })
			require.NotEmpty(t, r.failed)
		})
	}
	_, err := zktest.Start(t).Znodes(t).Get("locks")
	require.ErrorIs(t, err, zktest.ErrBadArguments)
}
