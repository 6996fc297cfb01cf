// Nobody else suffers from a request at which servers hang up.

package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// bystanders are requests of others, by what each is of. They take their time, so that they are
// under way whenever the connection goes.
var bystanders = map[string]func(w *world, s *session.Session, n int) error{
	"read by the application": func(w *world, s *session.Session, n int) error {
		_, _, err := s.Get(w.ctx, "/others/one")
		return err
	},
	"create that is protected": func(w *world, s *session.Session, n int) error {
		_, err := s.Create(w.ctx, fmt.Sprint("/others/new-", n), nil, session.Protected())
		return err
	},
	"large create that is protected": func(w *world, s *session.Session, n int) error {
		_, err := s.Create(w.ctx, fmt.Sprint("/others/new-", n), make([]byte, 5_000), session.Protected())
		return err
	},
	"read": func(w *world, s *session.Session, n int) error {
		return w.client(s).read(w, 1, "/others/one", false).Err
	},
	"watch": func(w *world, s *session.Session, n int) error {
		return w.client(s).read(w, 1, fmt.Sprint("/others/one-", n), true).Err
	},
	"contender": func(w *world, s *session.Session, n int) error {
		return w.client(s).join(w, 1, session.Join{Parent: "/others", Name: "lock-"}).Err
	},
}

// away is how far the servers are: what one has answered is lost if it hangs up meanwhile.
const away = 20 * time.Millisecond

func (w *world) farAway() session.Option {
	host := w.srv.Host("far away")
	host.Slow(away)
	return session.WithDialer(host.Dialer())
}

// One request at which servers hang up is tried, and given up. Nobody else suffers: not what is
// held in the session, nor those whose requests are under way each time that the connection goes.
func TestARequestAtWhichServersHangUpHarmsNobodyElse(t *testing.T) {
	pairs(t, poisons, bystanders, (*world).poisoned)
}

// poisons are requests at which servers hang up. One looks, before it asks again, whether it was
// carried out, and so comes later.
var poisons = map[string]func(w *world, s *session.Session) error{
	"read": func(w *world, s *session.Session) error { return w.client(s).read(w, 1, "/poison", false).Err },
	"create": func(w *world, s *session.Session) error {
		_, err := s.Create(w.ctx, "/poison", nil, session.Protected())
		return err
	},
}

func (w *world) poisoned(poison func(w *world, s *session.Session) error, ask func(w *world, s *session.Session, n int) error) {
	const others = 10
	s := w.open(w.farAway())
	for _, path := range []string{"/others", "/others/one"} {
		w.create(s, path, nil)
	}
	held := w.client(s).hold(w, 1, "/line")
	hangUps := w.hangsUpSlowly(func(r *zktest.Request) bool { return strings.HasSuffix(r.Path, "poison") })
	answers := make(chan error, others)
	for n := range others {
		go func() { answers <- ask(w, s, n) }()
	}
	synctest.Wait() // they are on their way
	require.ErrorIs(w, poison(w, s), session.ErrHungUp)
	require.True(w, held.Valid())
	for range others {
		require.NoError(w, <-answers)
	}
	require.True(w, held.Valid())
	require.NoError(w, held.Err())
	require.LessOrEqual(w, hangUps(), 10) // as one whose like was answered; two of them may be put down to somebody whose request was larger
	require.EqualValues(w, 1, s.Status().Epoch)
}

// hangsUpSlowly lets the servers hang up at the requests that match, and take in nothing that comes
// behind.
func (w *world) hangsUpSlowly(at func(r *zktest.Request) bool) (times func() int) {
	n, deaf := 0, false
	w.intercept(func(r *zktest.Request) zktest.Verdict {
		switch {
		case r.Op == zktest.OpConnect:
			deaf = false
		case at(r):
			n++
			deaf = true
			time.AfterFunc(away/2, func() { w.srv.Disconnect(r.SessionID) })
		}
		if deaf {
			return zktest.DropRequest
		}
		return zktest.Pass
	})
	return func() (all int) {
		w.script(func() { all = n })
		return all
	}
}
