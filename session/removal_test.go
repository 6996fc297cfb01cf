package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Where names come again, a znode that was deleted may have another's in its place by the time that
// somebody else of this process wants it deleted too: its client is given up, say, while the answer
// to its removal is on its way. What is there now is not deleted.
func TestAZnodeIsRemovedOnce(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(w *world, t *client, path string){
		"the client is left": func(_ *world, t *client, _ string) { t.Leave() },
		"removed again": func(w *world, t *client, path string) {
			t.Remove(1, path, func(err error) {
				if err != nil {
					w.Error(err)
				}
			})
		},
	} {
		for fate, verdict := range map[string]zktest.Verdict{"cut after": zktest.CutAfter, "cut before": zktest.CutBefore} {
			t.Run(name+", "+fate, func(t *testing.T) {
				inBubble(t, func(w *world) {
					s, rival := w.open(), w.open()
					t := w.client(s)
					alone := session.Join{Parent: "/", Name: "only", Form: znode.Alone}
					path := t.join(w, 1, alone).Path
					mine := id(s)
					down, deleted := false, 0
					w.intercept(func(r *zktest.Request) zktest.Verdict {
						switch {
						case r.SessionID != mine:
						case r.Op == zktest.OpConnect && down:
							return zktest.CutBefore
						case r.Op == zktest.OpDelete:
							if deleted++; deleted == 1 {
								down = true
								return verdict
							}
						}
						return zktest.Pass
					})
					t.Remove(1, path, func(error) {})
					synctest.Wait()
					again(w, t, path)
					synctest.Wait()
					his := w.client(rival).join(w, 1, alone)
					if verdict == zktest.CutBefore {
						require.ErrorIs(w, his.Err, session.ErrNodeExists)
					} else {
						require.NoError(w, his.Err)
					}
					w.script(func() { down = false })
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Zero(w, session.LedgerLen(s))
					_, stands, err := rival.Exists(w.ctx, path)
					require.NoError(w, err)
					require.Equal(w, his.Err == nil, stands, "it is the rival's, if it is anybody's")
				})
			})
		}
	}
}

// A client leaves, and another's znode stands where its own did: deleted by a transaction whose
// answer was lost, or by somebody else. It is not deleted with what the client left behind.
func TestWhatStandsInTheOldPlaceIsLeftAlone(t *testing.T) {
	t.Parallel()
	mine := session.CreateOp("/claim", []byte("mine"), session.Ephemeral())
	his := session.CreateOp("/claim", []byte("his"), session.Ephemeral())
	gone := session.DeleteOp("/claim", -1)
	for name, deleted := range map[string]func(w *world, t *client, rival *session.Session){
		"the answer was lost": func(w *world, t *client, _ *session.Session) {
			w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			require.ErrorIs(w, t.commit(w, 1, gone), session.ErrUnknownOutcome)
			require.ErrorIs(w, t.commit(w, 1, gone), session.ErrNoNode)
		},
		"by somebody else": func(w *world, _ *client, rival *session.Session) {
			require.NoError(w, rival.Delete(w.ctx, "/claim", -1))
		},
	} {
		for whose, same := range map[string]bool{"of the same session": true, "of another session": false} {
			t.Run(name+", "+whose, func(t *testing.T) {
				inBubble(t, func(w *world) {
					s, rival := w.open(), w.open()
					t, other := w.client(s), w.client(rival)
					if same {
						other = w.client(s)
					}
					require.NoError(w, t.commit(w, 1, mine))
					deleted(w, t, rival)
					require.NoError(w, other.commit(w, 1, his))
					t.Leave()
					time.Sleep(time.Second)
					synctest.Wait()
					_, stands, err := rival.Exists(w.ctx, "/claim")
					require.NoError(w, err)
					require.True(w, stands, "it is the other's")
					other.Leave()
					time.Sleep(time.Second)
					synctest.Wait()
					require.Zero(w, session.LedgerLen(s)+session.LedgerLen(rival))
					_, stands, err = rival.Exists(w.ctx, "/claim")
					require.NoError(w, err)
					require.False(w, stands, "and is deleted with what that leaves behind")
				})
			})
		}
	}
}

// What a transaction may have created is the client's if the session owns it. Where it may not be
// read, the owner tells.
func TestWhatMayNotBeReadIsToldByItsOwner(t *testing.T) {
	inBubble(t, func(w *world) {
		s, other := w.open(), w.open()
		t := w.client(s)
		for path, owner := range map[string]*session.Session{"/mine": s, "/his": other} {
			w.cutOnce(zktest.CutAfter, func(r *zktest.Request) bool { return r.Op == zktest.OpMulti })
			err := wait(w, func(done func(error)) {
				t.Commit(1, []session.Op{session.CreateOp(path, nil, session.Ephemeral())}, func(_ []session.Result, err error) { done(err) })
			})
			require.ErrorIs(w, err, session.ErrUnknownOutcome)
			if owner == other {
				require.NoError(w, s.Delete(w.ctx, path, -1))
				_, err := other.Create(w.ctx, path, nil, session.Ephemeral())
				require.NoError(w, err)
			}
		}
		w.intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				return zktest.Fail(zktest.ErrNoAuth)
			}
			return zktest.Pass
		})
		type recovery struct {
			standing, leaving []string
			err               error
		}
		r := wait(w, func(done func(recovery)) {
			t.Recover(1, func(standing, leaving []string, err error) { done(recovery{standing, leaving, err}) })
		})
		require.Equal(w, recovery{standing: []string{"/mine"}}, r)
	})
}
