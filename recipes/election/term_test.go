package election_test

// What a term can do: proclaim, be ready, hand over, also past candidates of the leader's own
// session; and what is left when the candidate has ended.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Ready and any number of Proclaims at the same time lose nothing of one another, in whatever order
// they read what each of them changes.
func TestConcurrentProclamationsAndReady(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]int{"Ready reads first": 0, "Ready reads in between": 5, "Ready reads last": 9} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				a := candidate(t, s, "a")
				term := leads(t, a)
				t.Cleanup(t.Server.Slow(s.Status().SessionID, 10*time.Millisecond)) // all have read before the first writes
				var writers []<-chan error
				for i := range 10 {
					writers = append(writers, bubble.Begin(func() error {
						if i == turn {
							return term.Ready(bubble.Minute(t))
						}
						return term.Proclaim(bubble.Minute(t), []byte(fmt.Sprint(i)))
					}))
					time.Sleep(time.Millisecond)
				}
				for _, w := range writers {
					require.NoError(t, bubble.Get(t, w, "the answer"))
				}
				l, err := a.Current(bubble.Minute(t))
				require.NoError(t, err)
				require.True(t, l.Ready)
				require.Len(t, l.Data, 1)
			})
		})
	}
}

// What a candidate writes is for everybody to read, and data given in advance are there from the
// start, in each candidacy.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session(session.WithoutIdentity())
		a := candidate(t, s, "a", election.WithData([]byte("here")))
		term := leads(t, a)
		content := func(path string) string {
			data, _, err := s.Get(bubble.Minute(t), path)
			require.NoError(t, err)
			return string(data)
		}
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":false}`, content(term.Path()))
		require.NoError(t, term.Proclaim(bubble.Minute(t), []byte("there")))
		require.NoError(t, term.Ready(bubble.Minute(t)))
		require.JSONEq(t, `{"id":"a","data":"dGhlcmU=","ready":true}`, content(term.Path()))
		require.NoError(t, term.Proclaim(bubble.Minute(t), nil))
		require.JSONEq(t, `{"id":"a","ready":true}`, content(term.Path()))
		require.NoError(t, term.Resign(bubble.Minute(t)))
		again := bubble.Get(t, a.Leader(), "a leads again")
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":false}`, content(again.Path()))
	})
}

// A candidate's znode says whose it is, also after it was changed, and a wait in vain whose the
// leader's is. What others write there in place of it is not read.
func TestCandidatesSayWhoseTheyAre(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		elsewhere := actors.New() // another process
		t.Cleanup(func() { _ = elsewhere.Close(bubble.Minute(t)) })
		s := t.Session(session.WithIdentity("orders-7"), session.WithSystem(elsewhere))
		term := leads(t, candidate(t, s, "a"))
		require.NoError(t, term.Ready(bubble.Minute(t)))
		b := candidate(t, t.Session(), "b", election.WithWarnAfter(0))
		owner := func() session.Identity {
			all, err := b.Candidates(bubble.Minute(t))
			require.NoError(t, err)
			return all[0].Owner
		}
		lead := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(bubble.Minute(t), d)
			defer cancel()
			_, err := b.Lead(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return err
		}
		require.Equal(t, "orders-7", owner().Name)
		require.Equal(t, os.Getpid(), owner().PID)
		require.NotContains(t, lead(900*time.Millisecond).Error(), "held")
		require.ErrorContains(t, lead(5*time.Second), ": held by "+owner().String()+", queued 5 s ago")
		for _, by := range []string{`5`, `null`, `{}`, `{"pid":-1}`, `{"name":"\u0007"}`, `{"name":5}`} {
			_, err := s.Set(bubble.Minute(t), term.Path(), []byte(`{"id":"a","by":`+by+`}`), -1)
			require.NoError(t, err)
			require.Zero(t, owner(), by)
			require.Regexp(t, `held by session 0x[0-9a-f]+, queued`, lead(5*time.Second).Error())
		}
	})
}

// Whatever others write into a candidate's znode harms nobody, and is not lost if it is addressed
// to it.
func TestDataOfOthers(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session(session.WithoutIdentity())
		a := candidate(t, s, "a", election.WithData([]byte("here")))
		term := leads(t, a)
		data, _, err := s.Get(bubble.Minute(t), term.Path())
		require.NoError(t, err)
		_, err = s.Set(bubble.Minute(t), term.Path(), append([]byte("unlock\n"), data...), -1)
		require.NoError(t, err)
		l, err := a.Current(bubble.Minute(t))
		require.NoError(t, err)
		require.Equal(t, "a", l.ID)
		require.NoError(t, term.Ready(bubble.Minute(t)))
		data, _, err = s.Get(bubble.Minute(t), term.Path())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(data), "unlock\n{"))

		for _, raw := range []string{"", "null", "[]", `{"name":"x"}`, `{"id":5}`, `{"id":"x","data":5}`, "\xff\xfe", "unlock"} {
			_, err = s.Set(bubble.Minute(t), term.Path(), []byte(raw), -1)
			require.NoError(t, err)
			l, err = a.Current(bubble.Minute(t))
			require.NoError(t, err)
			require.Equal(t, election.Leadership{Present: true, ID: raw, Token: term.Token()}, l)
		}
		require.NoError(t, term.Ready(bubble.Minute(t)), "it is mended with the next word")
		data, _, err = s.Get(bubble.Minute(t), term.Path())
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":true}`, string(data))
	})
}

// A transfer that finds somebody gone in between looks again.
func TestTransferLooksAgain(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		sb := t.Session()
		a, b, c, d := candidate(t, t.Session(), "a"), candidate(t, sb, "b"), candidate(t, t.Session(), "c"), candidate(t, t.Session(), "d")
		term := leads(t, a)
		for _, e := range []*election.Election{b, c, d} {
			waits(t, e)
		}
		candidates, err := d.Candidates(bubble.Minute(t))
		require.NoError(t, err)
		remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpMulti {
				t.Server.Expire(sb.Status().SessionID) // again and again: only the first time there is something to expire in between
			}
			return zktest.Pass
		})
		defer remove()
		require.NoError(t, term.TransferTo(bubble.Minute(t), candidates[3].Path))
		require.Greater(t, bubble.Get(t, d.Leader(), "d leads").Token(), term.Token())
	})
}

// The candidates in between, whose session follows them one after the other, stand again at the end
// of the line, and none of them leads beside the one that was chosen.
func TestTransferPastCandidatesOfOneSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c, d := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, s, "c"), candidate(t, t.Session(), "d")
		term := leads(t, a)
		for _, e := range []*election.Election{b, c, d} {
			waits(t, e)
		}
		candidates, err := d.Candidates(bubble.Minute(t))
		require.NoError(t, err)
		require.NoError(t, term.TransferTo(bubble.Minute(t), candidates[3].Path))
		last := bubble.Get(t, d.Leader(), "d leads")
		for _, e := range []*election.Election{a, b, c} {
			bubble.Never(t, e.Leader())
		}
		require.NoError(t, d.Resign(bubble.Minute(t)))
		for range 3 { // in whichever order they stand now
			var led *election.Term
			of := a
			select {
			case led = <-a.Leader():
			case led = <-b.Leader():
				of = b
			case led = <-c.Leader():
				of = c
			case <-time.After(time.Minute):
				require.Fail(t, "nobody leads", t.Server.Dump())
			}
			require.Greater(t, led.Token(), last.Token())
			require.NoError(t, of.Resign(bubble.Minute(t)))
			last = led
		}
	})
}

// After Close, and after the end of the session, everything says so, at once.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t testing.TB, s *session.Session, e *election.Election){
		"of the candidate": func(t testing.TB, _ *session.Session, e *election.Election) {
			require.NoError(t, e.Close(bubble.Minute(t)))
		},
		"of the session": func(t testing.TB, s *session.Session, _ *election.Election) {
			require.NoError(t, s.Close(bubble.Minute(t)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				a := candidate(t, s, "a")
				term := leads(t, a)
				seen := a.Observe(bubble.Minute(t))
				require.NoError(t, a.Err())
				end(t, s, a)
				bubble.Closes(t, term.Done(), "the term")
				bubble.Closes(t, a.Done(), "the candidate")
				require.ErrorIs(t, a.Err(), session.ErrClosed)
				bubble.Closes(t, seen, "the observation")
				bubble.Closes(t, a.Observe(bubble.Minute(t)), "a new observation")
				bubble.Closes(t, a.Standing(bubble.Minute(t)), "the standing")
				a.Campaign()
				_, err := a.Lead(bubble.Minute(t))
				require.ErrorIs(t, err, session.ErrClosed)
				require.ErrorIs(t, a.Run(bubble.Minute(t), idle), session.ErrClosed)
				require.NoError(t, a.Resign(bubble.Minute(t)))
				require.NoError(t, a.Close(bubble.Minute(t)), "it is idempotent")
				require.ErrorIs(t, term.Proclaim(bubble.Minute(t), nil), session.ErrLost)
				bubble.Never(t, a.Leader(), "no term")
			})
		})
	}
}

// Who leads again after a loss says for how long it did not.
func TestATermAfterALossSaysHowLongThereWasNone(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		var log bubble.Log
		h := t.Host("a", log.Option())
		a := candidate(t, h.Session, "a")
		require.NoError(t, t.Server.Delete(leads(t, a).Path()))
		again := leads(t, a)
		require.NoError(t, again.Resign(bubble.Minute(t)))
		leads(t, a)
		require.Len(t, log.Warnings(path), 1)
		require.Contains(t, log.Warnings(path)[0], "a possession is lost")
		require.Equal(t, 3, log.Count(`level=INFO msg="leadership is won"`))
		require.Equal(t, 1, log.Count(fmt.Sprintf(`"leadership is won" recipe=election path=%s id=a token=%d after=`, path, again.Token())))
	})
}

// stand has one of three lead, and the others wait for it. It returns the path of the last.
func stand(t *bubble.World, a, b, c *election.Election) (*election.Term, string) {
	term := leads(t, a)
	waits(t, b)
	waits(t, c)
	candidates, err := c.Candidates(bubble.Minute(t))
	require.NoError(t, err)
	return term, candidates[2].Path
}

// A and B share a session, in which B is told at once that A has resigned; that TransferTo has
// deleted its own znode waits behind the answer of somebody else, who is slow. B does not lead.
func TestATransferPassesACandidateOfTheSameSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, t.Session(), "c")
		term, last := stand(t, a, b, c)
		letGo := occupy(t, s)
		require.NoError(t, term.TransferTo(bubble.Minute(t), last))
		next := bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b leads beside c")
		letGo()
		synctest.Wait()
		bubble.Never(t, b.Leader(), "b leads beside c")
		require.Equal(t, []string{"c", "a", "b"}, line(t, c), "b has lost its place, and stands again")
		require.NoError(t, c.Resign(bubble.Minute(t)))
		require.Greater(t, bubble.Get(t, a.Leader(), "a is next").Token(), next.Token())
		require.NoError(t, a.Resign(bubble.Minute(t)))
		bubble.Get(t, b.Leader(), "that b was refused once is over")
	})
}

// occupy keeps a session from telling anybody of events, until it is let go: who reads is told the
// answer, and takes its time.
func occupy(t *bubble.World, s *session.Session) (letGo func()) {
	client, err := seam.NewClient(s, "slow", func(seam.Event) {}, nil)
	require.NoError(t, err)
	t.Cleanup(client.Leave)
	occupied := make(chan struct{})
	synctest.Wait() // who is next watches its own znode by then
	client.Read(s.Status().Epoch, path, true, func(seam.Seen) { <-occupied })
	synctest.Wait()
	return func() { close(occupied) }
}

// Nor does it lead for the time that TransferTo's transaction takes, if the term is resigned
// meanwhile, since the context has ended, say.
func TestATransferThatIsUnderWayPassesACandidateOfTheSameSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, b, c := candidate(t, s, "a"), candidate(t, s, "b"), candidate(t, t.Session(), "c")
		term, last := stand(t, a, b, c)
		t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpMulti && r.SessionID == s.Status().SessionID {
				return zktest.Delay(time.Second)
			}
			return zktest.Pass
		})
		ctx, cancel := context.WithTimeout(bubble.Minute(t), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, term.TransferTo(ctx, last), context.DeadlineExceeded)
		resigned := bubble.Begin(func() error { return term.Resign(bubble.Minute(t)) })
		bubble.Never(t, b.Leader(), "b leads, though its znode is being deleted")
		require.NoError(t, bubble.Get(t, resigned))
		bubble.Get(t, c.Leader(), "c leads")
		bubble.Never(t, b.Leader(), "b leads beside c")
	})
}
