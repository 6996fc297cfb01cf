package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

var fates = map[string]zktest.Verdict{
	"reply dropped": zktest.DropReply, "request dropped": zktest.DropRequest, "cut after": zktest.CutAfter, "cut before": zktest.CutBefore,
}

// creates are those of a contender, not of its parents.
func creates(r *zktest.Request) bool {
	return r.Op == zktest.OpCreate2 || r.Op == zktest.OpCreate
}

// In whichever form a contender is named, a create whose answer is lost makes one and no more, and
// it is found among others like it.
func TestALostCreateIsFoundInEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range []struct {
		form znode.Form
		name string
	}{
		{znode.Dashed, "lock-"},
		{znode.Undashed, "lock-"},
		{znode.Bare, "__lock__"},
		{znode.OfSession, "x-"},
		{znode.Plain, "n_"},
	} {
		for _, data := range []string{"", "host"} {
			for name, fate := range fates {
				t.Run(fmt.Sprint(form.name, form.form, " ", data, " ", name), func(t *testing.T) {
					inBubble(t, func(w *world) {
						s, other := w.open(), w.open()
						a, b, far := w.client(s), w.client(s), w.client(other)
						j := session.Join{Parent: "/line", Name: form.name, Form: form.form, Data: []byte(data)}
						alike := a.join(w, 1, j)
						require.NoError(w, alike.Err)
						require.NoError(w, far.join(w, 1, j).Err)
						w.cutOnce(fate, creates)
						made := b.join(w, 1, j)
						require.NoError(w, made.Err)
						require.NotEqual(w, alike.Path, made.Path)
						require.ElementsMatch(w, []string{alike.Path, made.Path}, w.ephemerals(id(s)), "one for each")
						stored, stat, err := s.Get(w.ctx, made.Path)
						require.NoError(w, err)
						require.Equal(w, id(s), stat.EphemeralOwner)
						if form.form.Named() || data != "" {
							require.Equal(w, data, string(stored))
						} else {
							require.Len(w, stored, 36, "a GUID")
						}
						b.remove(w, 1, made.Path)
						require.Equal(w, []string{alike.Path}, w.ephemerals(id(s)))
					})
				})
			}
		}
	}
}

// Two creates with the same data are lost at once: each finds one of the two, and there is no
// third.
func TestTwoLostCreatesWithTheSameData(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		a, b := w.client(s), w.client(s)
		_, err := s.Create(w.ctx, "/line", nil)
		require.NoError(w, err)
		n := 0
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if creates(r) {
				if n++; n <= 2 {
					return zktest.DropReply
				}
			}
			return zktest.Pass
		})
		j := session.Join{Parent: "/line", Name: "n_", Form: znode.Plain, Data: []byte("host")}
		var paths [2]string
		for i, t := range []*client{a, b} {
			t.Join(1, j, func(joined session.Joined) { paths[i] = joined.Path })
		}
		time.Sleep(time.Minute)
		synctest.Wait() // for those who write the paths, too
		require.ElementsMatch(w, paths[:], w.ephemerals(id(s)))
		require.NotEqual(w, paths[0], paths[1])
	})
}

// One znode for all: who comes second is refused, whoever made the first.
func TestAloneIsOneForAll(t *testing.T) {
	everywhere(t, func(w *world, s *session.Session) {
		j := session.Join{Parent: "/", Name: "controller", Form: znode.Alone, Data: []byte("broker 1")}
		a, b, far := w.client(s), w.client(s), w.client(w.open())
		at, _ := znode.Split(s.Path("/controller"))
		same := session.Join{Parent: at, Name: "controller", Form: znode.Alone} // of a session without the namespace
		first := a.join(w, 1, j)
		require.NoError(w, first.Err)
		require.Equal(w, "/controller", first.Path)
		data, stat, err := s.Get(w.ctx, "/controller")
		require.NoError(w, err)
		require.Equal(w, "broker 1", string(data))
		require.Equal(w, stat.Czxid, first.Stat.Czxid)
		require.Equal(w, id(s), first.Stat.EphemeralOwner)
		for _, t := range []*client{a, b} {
			require.ErrorIs(w, t.join(w, 1, j).Err, session.ErrNodeExists)
		}
		require.ErrorIs(w, far.join(w, 1, same).Err, session.ErrNodeExists)
		require.Equal(w, []string{"/controller"}, a.Leftovers())
		require.Empty(w, b.Leftovers())
		b.remove(w, 1, "/controller")
		_, exists, err := s.Exists(w.ctx, "/controller")
		require.NoError(w, err)
		require.True(w, exists, "it is not b's to remove")
		a.remove(w, 1, "/controller")
		second := far.join(w, 1, same)
		require.NoError(w, second.Err)
		a.Leave()
		b.Leave()
		w.settle()
		_, exists, err = s.Exists(w.ctx, "/controller")
		require.NoError(w, err)
		require.True(w, exists, "nor is what a had before")
		far.remove(w, 1, second.Path)
	})
}

// Whichever answer is lost, what was created alone is known, and what somebody else has created
// since is not removed.
func TestAloneWithLostAnswers(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open()
				a, b, far := w.client(s), w.client(s), w.client(w.open())
				for _, data := range []string{"", "broker 1"} {
					j := session.Join{Parent: "/deep/er", Name: "controller", Form: znode.Alone, Data: []byte(data)}
					w.cutOnce(fate, func(r *zktest.Request) bool { return creates(r) && strings.HasSuffix(r.Path, "controller") })
					made := a.join(w, 1, j)
					require.NoError(w, made.Err)
					require.ErrorIs(w, b.join(w, 1, j).Err, session.ErrNodeExists)
					w.cutOnce(fate, func(r *zktest.Request) bool {
						if r.Op == zktest.OpDelete && fate == zktest.CutAfter {
							go func() { // as soon as it is gone, somebody else is there
								far.Join(1, j, func(session.Joined) {})
							}()
						}
						return r.Op == zktest.OpDelete
					})
					a.remove(w, 1, made.Path)
					synctest.Wait()
					if fate == zktest.CutAfter {
						require.Len(w, far.Leftovers(), 1)
						stat, exists, err := s.Exists(w.ctx, made.Path)
						require.NoError(w, err)
						require.True(w, exists, "the other's was taken for one's own")
						require.NotEqual(w, id(s), stat.EphemeralOwner)
						far.remove(w, 1, made.Path)
					}
					require.Empty(w, w.ephemerals(id(s)))
					require.Empty(w, a.Leftovers())
				}
			})
		})
	}
}

// Somebody deletes it, and another of the same process is quicker: each knows what is his.
func TestAloneAfterAnother(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		a, b := w.client(s), w.client(s)
		j := session.Join{Parent: "/", Name: "controller", Form: znode.Alone, Data: []byte("broker 1")}
		require.NoError(w, a.join(w, 1, j).Err)
		require.True(w, a.read(w, 1, "/controller", true).Exists)
		require.NoError(w, s.Delete(w.ctx, "/controller", -1))
		w.cutOnce(zktest.CutAfter, creates)
		require.NoError(w, b.join(w, 1, j).Err, "found, though the record still has the one before")
		standing := wait(w, func(done func([]string)) { a.Recover(1, func(standing, _ []string, _ error) { done(standing) }) })
		require.Empty(w, standing)
		standing = wait(w, func(done func([]string)) { b.Recover(1, func(standing, _ []string, _ error) { done(standing) }) })
		require.Equal(w, []string{"/controller"}, standing)
		a.Leave()
		synctest.Wait()
		require.Equal(w, []string{"/controller"}, w.ephemerals(id(s)))
		require.Equal(w, 1, session.LedgerLen(s))
		b.Leave()
		synctest.Wait()
		require.Empty(w, w.ephemerals(id(s)))
		require.Zero(w, session.LedgerLen(s))
	})
}

// Where names come again, one that took the place of what somebody deleted takes its place in the
// record too.
func TestTheRecordDoesNotGrowWithWhatOthersDelete(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.open()
		t := w.client(s)
		for range 5 {
			require.NoError(w, t.join(w, 1, session.Join{Parent: "/", Name: "controller", Form: znode.Alone}).Err)
			require.Equal(w, 1, session.LedgerLen(s))
			require.Equal(w, []string{"/controller"}, t.Leftovers())
			require.NoError(w, s.Delete(w.ctx, "/controller", -1))
		}
	})
}
