package bubble

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// Suite has the tests of a recipe that run on any ZooKeeper, embedded or real.
type Suite []struct {
	Name string
	Test func(t *Cluster)
}

// Cluster is one test of a suite, and the ZooKeeper that it runs on.
type Cluster struct {
	testing.TB
	Root string // below which the test has everything to itself
	Real bool   // these are real servers
	open func(opts ...session.Option) *session.Session
}

// Session is a connected session, in the namespace of the test.
func (c *Cluster) Session(opts ...session.Option) *session.Session {
	c.Helper()
	return c.open(append([]session.Option{session.WithNamespace(c.Root)}, opts...)...)
}

// Embedded runs each test of the suite in a bubble of its own.
func (s Suite) Embedded(t *testing.T) {
	t.Helper()
	for _, test := range s {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			Run(t, func(w *World) { test.Test(&Cluster{TB: w, Root: "/test", open: w.Session}) })
		})
	}
}

// Open is a session on real servers. It is closed at the end of the test, as far as that is
// possible then.
func Open(t testing.TB, servers []string, opts ...session.Option) *session.Session {
	t.Helper()
	s, err := session.Open(Minute(t), servers, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(Minute(t)) })
	return s
}

// Real runs the suite on one real server, and on three: of the latter only those tests that are
// named, except in soak.
func (s Suite) Real(t *testing.T, onThree ...string) {
	t.Helper()
	var named Suite
	for _, test := range s {
		if tier.Soaking() || slices.Contains(onThree, test.Name) {
			named = append(named, test)
		}
	}
	s.real(t, "one server", 1)
	named.real(t, "three servers", 3)
}

// real runs the suite on so many real servers, unless it is empty.
func (s Suite) real(t *testing.T, name string, servers int) {
	t.Helper()
	if len(s) == 0 {
		return
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		zk := ensemble.Start(t, servers)
		for _, test := range s {
			t.Run(test.Name, func(t *testing.T) {
				defer unexpected(t)
				test.Test(&Cluster{TB: t, Real: true, Root: "/" + strings.ReplaceAll(test.Name, " ", "-"), open: func(opts ...session.Option) *session.Session {
					s, err := session.Open(Minute(t), zk.Servers(), opts...)
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, s.Close(Minute(t))) })
					return s
				}})
			})
		}
	})
}

// Leader waits for a real server that leads.
func Leader(t testing.TB, e *ensemble.Ensemble) int {
	t.Helper()
	leader, err := e.AwaitLeader(Minute(t))
	require.NoError(t, err)
	return leader
}
