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

// Where names come again, a znode that was deleted may have another's in its place by the time that somebody else of this process wants it deleted too: its seat
// is given up, say, while the answer to its removal is on its way. What is there now is not deleted.
func TestAZnodeIsRemovedOnce(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(w *world, t *seat, path string){
		"the seat is left": func(_ *world, t *seat, _ string) { t.Leave() },
		"removed again": func(w *world, t *seat, path string) {
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
					t := w.seat(s)
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
					his := w.seat(rival).join(w, 1, alone)
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
