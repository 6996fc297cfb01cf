package election_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Ready and any number of Proclaims at the same time lose nothing of one another.
func TestConcurrentProclamationsAndReady(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		a := candidate(t, connected(t, z), "a")
		term := leads(t, a)
		var writers sync.WaitGroup
		for i := range 10 {
			writers.Go(func() { require.NoError(t, term.Proclaim(patience(t), []byte(fmt.Sprint(i)))) })
		}
		writers.Go(func() { require.NoError(t, term.Ready(patience(t))) })
		writers.Wait()
		l, err := a.Current(patience(t))
		require.NoError(t, err)
		require.True(t, l.Ready)
		require.Len(t, l.Data, 1)
	})
}

// What a candidate writes is for everybody to read, and data given in advance are there from the
// start, in each candidacy.
func TestEnvelope(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a := candidate(t, s, "a", election.WithData([]byte("here")))
		term := leads(t, a)
		content := func(path string) string {
			data, _, err := s.Get(patience(t), path)
			require.NoError(t, err)
			return string(data)
		}
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":false}`, content(term.Path()))
		require.NoError(t, term.Proclaim(patience(t), []byte("there")))
		require.NoError(t, term.Ready(patience(t)))
		require.JSONEq(t, `{"id":"a","data":"dGhlcmU=","ready":true}`, content(term.Path()))
		require.NoError(t, term.Proclaim(patience(t), nil))
		require.JSONEq(t, `{"id":"a","ready":true}`, content(term.Path()))
		require.NoError(t, term.Resign(patience(t)))
		again := get(t, a.Leader(), "a leads again")
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":false}`, content(again.Path()))
	})
}

// Whatever others write into a candidate's znode harms nobody, and is not lost if it is addressed
// to it.
func TestDataOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a := candidate(t, s, "a", election.WithData([]byte("here")))
		term := leads(t, a)
		data, _, err := s.Get(patience(t), term.Path())
		require.NoError(t, err)
		_, err = s.Set(patience(t), term.Path(), append([]byte("unlock\n"), data...), -1)
		require.NoError(t, err)
		l, err := a.Current(patience(t))
		require.NoError(t, err)
		require.Equal(t, "a", l.ID)
		require.NoError(t, term.Ready(patience(t)))
		data, _, err = s.Get(patience(t), term.Path())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(data), "unlock\n{"))

		for _, raw := range []string{"", "null", "[]", `{"name":"x"}`, `{"id":5}`, `{"id":"x","data":5}`, "\xff\xfe", "unlock"} {
			_, err = s.Set(patience(t), term.Path(), []byte(raw), -1)
			require.NoError(t, err)
			l, err = a.Current(patience(t))
			require.NoError(t, err)
			require.Equal(t, election.Leadership{Present: true, ID: raw, Token: term.Token()}, l)
		}
		require.NoError(t, term.Ready(patience(t)), "it is mended with the next word")
		data, _, err = s.Get(patience(t), term.Path())
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		require.JSONEq(t, `{"id":"a","data":"aGVyZQ==","ready":true}`, string(data))
	})
}

// A transfer that finds somebody gone in between looks again.
func TestTransferLooksAgain(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		sb := connected(t, z)
		a, b, c, d := candidate(t, connected(t, z), "a"), candidate(t, sb, "b"), candidate(t, connected(t, z), "c"), candidate(t, connected(t, z), "d")
		term := leads(t, a)
		for _, e := range []*election.Election{b, c, d} {
			waits(t, e)
		}
		candidates, err := d.Candidates(patience(t))
		require.NoError(t, err)
		remove := z.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpMulti {
				z.Expire(sb.Status().SessionID) // again and again: only the first time there is something to expire in between
			}
			return zktest.Pass
		})
		defer remove()
		require.NoError(t, term.TransferTo(patience(t), candidates[3].Path))
		require.Greater(t, get(t, d.Leader(), "d leads").Token(), term.Token())
	})
}

func TestNewRefusesBadInput(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		_, err := election.New(nil, path)
		require.ErrorContains(t, err, "nil session")
		for _, bad := range []string{"", "services", "/services/", "/a//b", "/a/./b", "/a/../b", "/a\x00b"} {
			_, err = election.New(s, bad)
			require.ErrorIs(t, err, session.ErrInvalidPath, "%q", bad)
		}
		_, err = election.New(s, path, election.WithID(""))
		require.ErrorContains(t, err, "WithID")
		_, err = election.New(s, path, election.WithID("\xff"))
		require.ErrorContains(t, err, "WithID")
		_, err = election.New(s, path, nil)
		require.ErrorContains(t, err, "opts[0]")
		e, err := election.New(s, path)
		require.NoError(t, err)
		require.ErrorContains(t, e.Run(patience(t), nil), "f: nil")
		require.NoError(t, s.Close(patience(t)))
		_, err = election.New(s, path)
		require.ErrorIs(t, err, session.ErrClosed)
	})
}

// Without a name given, each has its own.
func TestDefaultIDs(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		ids := make(map[string]bool)
		for range 3 {
			e, err := election.New(s, path)
			require.NoError(t, err)
			ids[e.ID()] = true
			require.NoError(t, e.Close(patience(t)))
		}
		require.Len(t, ids, 3)
	})
}

// After Close, and after the end of the session, everything says so, at once.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *session.Session, e *election.Election){
		"of the candidate": func(t *testing.T, _ *session.Session, e *election.Election) { require.NoError(t, e.Close(patience(t))) },
		"of the session":   func(t *testing.T, s *session.Session, _ *election.Election) { require.NoError(t, s.Close(patience(t))) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, z *zktest.Server) {
				s := connected(t, z)
				a, b := candidate(t, s, "a"), candidate(t, connected(t, z), "b")
				term := leads(t, a)
				waits(t, b)
				seen := a.Observe(patience(t))
				require.NoError(t, a.Err())
				end(t, s, a)
				closes(t, term.Done(), "the term")
				require.ErrorIs(t, term.Err(), session.ErrLost)
				require.ErrorIs(t, term.Err(), session.ErrClosed)
				closes(t, a.Done(), "the candidate")
				require.ErrorIs(t, a.Err(), session.ErrClosed)
				closes(t, seen, "the observation")
				closes(t, a.Observe(patience(t)), "a new observation")
				closes(t, a.Standing(patience(t)), "the standing")
				get(t, b.Leader(), "b leads")

				a.Campaign()
				_, err := a.Lead(patience(t))
				require.ErrorIs(t, err, session.ErrClosed)
				require.ErrorIs(t, a.Run(patience(t), idle), session.ErrClosed)
				require.NoError(t, a.Resign(patience(t)))
				require.NoError(t, a.Close(patience(t)), "it is idempotent")
				require.ErrorIs(t, term.Proclaim(patience(t), nil), session.ErrLost)
				nothing(t, a.Leader(), "no term")
				require.Equal(t, []string{"b"}, line(t, b))
			})
		})
	}
}
