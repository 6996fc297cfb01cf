// Requests and their answers: errors, proofs, order, numbers, and which request is to blame for a
// loss. Helpers: helper_test.go.

package zkconn_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func TestAnswersOfEveryCode(t *testing.T) {
	t.Parallel()
	want := map[jute.Code]error{
		jute.Unimplemented: zkconn.ErrUnsupported, jute.QuotaExceeded: zkconn.ErrQuotaExceeded, jute.ThrottledOp: zkconn.ErrThrottled,
		jute.NoNode: zkconn.ErrNoNode, jute.NodeExists: zkconn.ErrNodeExists, jute.BadVersion: zkconn.ErrBadVersion,
		jute.NotEmpty: zkconn.ErrNotEmpty, jute.NoChildrenForEphemerals: zkconn.ErrNoChildrenForEphemerals, jute.NoAuth: zkconn.ErrNoAuth,
		jute.InvalidACL: zkconn.ErrInvalidACL, jute.BadArguments: zkconn.ErrBadArguments, jute.AuthFailed: zkconn.ErrAuthFailed,
	}
	for _, code := range []jute.Code{-1, -3, -5, -100, -119, -123, -9999} { // without an error value: see meanings
		want[code] = nil
	}
	for code, sentinel := range want {
		t.Run(code.String(), func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.connected()
				for op, ask := range every(b.Conn) {
					err := ask()
					switch {
					case op == jute.OpExists && code == jute.NoNode:
						require.NoError(b, err)
					case sentinel != nil:
						require.ErrorIs(b, err, sentinel, op.String())
					default:
						var other *zkconn.CodeError
						require.ErrorAs(b, err, &other, op.String())
						require.EqualValues(b, code, other.Code)
						require.Contains(b, err.Error(), fmt.Sprint(int(code)))
					}
				}
				require.Len(b, b.sink.all(), 1, "no error is a reason to drop the connection, and none proves anything")
			}, func(f *fake, _ *zkconn.Config) {
				f.answer = refuses(code)
			})
		})
	}
}

// A server that leaves the outcome open, or knows of another session, is left: the next one will
// tell.
func TestAnswersThatLeaveTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	for _, code := range []jute.Code{
		jute.ConnectionLoss, jute.OperationTimeout, jute.RequestTimeout, jute.UnknownSession, jute.SessionExpired, jute.SessionMoved,
	} {
		t.Run(code.String(), func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.connected()
				require.ErrorIs(b, b.Sync("/"), zkconn.ErrNoReply)
				require.ErrorIs(b, last[zkconn.Down](b.sink).Cause, code)
			}, func(f *fake, _ *zkconn.Config) {
				f.answer = refuses(code)
			})
		})
	}
}

func TestWhatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.ErrorIs(b, errOf(b.Create("no slash", nil, jute.FlagPersistent, 0, nil)), zkconn.ErrInvalidPath)
		require.ErrorIs(b, errOf(b.Create("/a", nil, 17, 0, nil)), zkconn.ErrBadArguments)
		require.ErrorIs(b, b.Delete("/a/", -1), zkconn.ErrInvalidPath)
		require.ErrorIs(b, errOf(b.Enter(zkconn.Entry{Path: "/a", Replace: "/a/", ACL: world})), zkconn.ErrInvalidPath)
		require.ErrorIs(b, errOf(b.Enter(zkconn.Entry{Path: "/a", ACL: world, List: "a"})), zkconn.ErrInvalidPath)
		require.Empty(b, v.ops())
		require.NoError(b, b.Sync("/"), "and nothing is blocked by it")
	})
}

// The answers to pings tell that the server has heard of the session, since they were sent.
func TestAnswersToPingsTellOfLife(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		began := time.Now()
		time.Sleep(2*timeout + time.Second)
		heard, at := told[zkconn.Heard](b.sink)
		require.Len(b, heard, 6, "one each third of the timeout")
		for i := range heard {
			require.WithinRange(b, heard[i].Sent, began, at[i])
			require.Equal(b, heard[i].Sent, at[i])
		}
	})
}

// A transaction that fails since the server does not know the session any more is no proof of
// anything, though the answer as a whole is a success.
func TestATransactionThatTheSessionsEndFailsProvesNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		require.NoError(b, b.Prove("/"))
		proved, _ := told[zkconn.Proved](b.sink)
		require.Len(b, proved, 1)
		require.True(b, proved[0].Write)
		b.answers(func(_ *visit, q jute.Request) (jute.Reply, bool) {
			return jute.Reply{Xid: q.Xid, Results: []jute.Result{{Op: jute.OpError, Err: jute.SessionExpired}}}, true
		})
		require.ErrorIs(b, b.Prove("/"), zkconn.ErrNoReply)
		require.Error(b, errOf(b.Multi([]jute.Request{{Op: jute.OpCheck, Path: "/", Version: -1}})))
		proved, _ = told[zkconn.Proved](b.sink)
		require.Len(b, proved, 1)
	})
}

// Only what the leader has answered proves anything; what counts is when it was asked.
func TestOnlyTheLeadersAnswersProve(t *testing.T) {
	proving := map[jute.Op]bool{
		jute.OpCreate: true, jute.OpCreate2: true, jute.OpCreateContainer: true, jute.OpCreateTTL: true, jute.OpSetData: true, jute.OpDelete: true,
		jute.OpSetACL: true, jute.OpSync: true, jute.OpMulti: true,
	}
	inBubble(t, func(b *bench) {
		b.connected()
		for op, ask := range every(b.Conn) {
			_, before := told[zkconn.Proved](b.sink)
			sent := time.Now()
			asked := bubble.Begin(ask)
			synctest.Wait()
			time.Sleep(time.Second)
			require.NoError(b, bubble.Now(b, asked))
			proved, at := told[zkconn.Proved](b.sink)
			if !proving[op] {
				require.Len(b, proved, len(before), op.String())
				continue
			}
			require.Len(b, proved, len(before)+1, op.String())
			require.Equal(b, sent, proved[len(proved)-1].Sent)
			require.Equal(b, op != jute.OpSync, proved[len(proved)-1].Write, op.String())
			require.Equal(b, sent.Add(time.Second), at[len(at)-1])
		}
	}, func(f *fake, _ *zkconn.Config) {
		f.answer = answersAfter(time.Second)
	})
}

// An answer that does not come while later ones do is lost, and so is the connection: the caller
// would never learn the outcome otherwise. With nothing else to overtake it, the answers to two
// pings do: that takes less than the session's timeout.
func TestALostAnswerIsFoundOut(t *testing.T) {
	each(t, map[string]bool{"by the next": true, "by pings": false}, func(b *bench, next bool) {
		b.connected()
		b.answers(except(jute.OpCreate, answersNothing))
		created := bubble.Begin(func() error { _, err := b.Create("/a", nil, jute.FlagEphemeral, 0, world); return err })
		synctest.Wait()
		began := time.Now()
		if next {
			require.Error(b, errOf(b.Children("/", false)))
		}
		require.ErrorIs(b, <-created, zkconn.ErrNoReply)
		require.Less(b, time.Since(began), 10*time.Second)
		require.Equal(b, next, time.Since(began) == 0)
	})
}

// A server takes a transaction that the leader commits for its client's own if session and xid are
// those of the client's oldest request (ZooKeeper's CommitProcessor). The servers here do so. One
// that was sent on the connection before, and is committed late, answers nothing on the next one.
func TestALateCommitAnswersNoLaterRequest(t *testing.T) {
	var late jute.Request // at the leader, and not committed yet
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, b.Sync("/"))
		first := bubble.Begin(func() error { _, err := b.Create("/first", nil, jute.FlagPersistent, 0, world); return err })
		synctest.Wait()
		v.hangUp()
		require.ErrorIs(b, bubble.Now(b, first), zkconn.ErrNoReply)
		require.Equal(b, "/first", late.Path)

		time.Sleep(time.Second)
		b.connected()
		for range 10 {
			path, err := b.Create("/next", nil, jute.FlagPersistent, 0, world)
			require.NoError(b, err)
			require.Equal(b, "/next", path, "it got the answer to another one")
		}
	}, func(f *fake, _ *zkconn.Config) {
		f.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
			switch {
			case q.Path == "/first":
				late = q
				return jute.Reply{}, false
			case late.Path != "" && q.Op.Writes() && q.Xid == late.Xid:
				return success(late), true
			}
			return success(q), true
		}
	})
}

// While a request is alone on its way others wait, but not the signs of life on which trust rests.
func TestSignsOfLifeDoNotWaitForASuspect(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		before := len(v.ops())
		ask := func(call func() error) {
			answers := bubble.Begin(call)
			synctest.Wait()
			b.Cleanup(func() { <-answers })
		}
		ask(func() error { _, _, err := b.Alone().Get("/suspect", false); return err })
		ask(func() error { _, _, err := b.Get("/other", false); return err })
		ask(func() error { return b.Alone().Sync("/") }) // a suspect itself, it waits
		ask(func() error { return b.Sync("/") })
		ask(func() error { return b.Prove("/") })
		require.Equal(b, []jute.Op{jute.OpGetData, jute.OpSync, jute.OpMulti}, v.ops()[before:])
	})
}

// A server hangs up at a request when it reads it. A connection that is lost long after that, as
// when a server has lost its leader, is no reason to blame the request.
func TestALateLossIsNotTheRequests(t *testing.T) {
	inBubble(t, func(b *bench) {
		for range 10 {
			v := b.connected()
			require.NoError(b, b.Sync("/"))
			set := bubble.Begin(func() error { _, err := b.Set("/a", make([]byte, 5000), -1); return err })
			time.Sleep(timeout / 4)
			v.hangUp()
			err := bubble.Now(b, set)
			require.ErrorIs(b, err, zkconn.ErrNoReply)
			require.NotErrorIs(b, err, zkconn.ErrCutOff)
			time.Sleep(100 * time.Millisecond) // so that no ping is answered meanwhile
		}
		b.answers(nil)
		require.NoError(b, errOf(b.Set("/a", make([]byte, 5000), -1)))
	}, func(f *fake, _ *zkconn.Config) { f.answer = except(jute.OpSetData, answersNothing) })
}

// Those that trust depends on may come without end, as the syncs of an application do. One that is
// to be alone gets its turn nevertheless, and so do those that wait for it.
func TestWhoIsToBeAloneWaitsForNoSignsOfLife(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		over, stop := context.WithCancel(b.Context())
		var syncing sync.WaitGroup
		for i := range 2 {
			syncing.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond) // there is always one under way
				for over.Err() == nil {
					require.NoError(b, b.Sync("/"))
				}
			})
		}
		defer syncing.Wait()
		defer stop()
		time.Sleep(time.Second)
		suspect := bubble.Begin(func() error { _, _, err := b.Alone().Get("/suspect", false); return err })
		synctest.Wait()
		other := bubble.Begin(func() error { _, _, err := b.Get("/other", false); return err })
		time.Sleep(100 * time.Millisecond)
		require.NoError(b, bubble.Now(b, suspect))
		require.NoError(b, bubble.Now(b, other))
	}, func(f *fake, _ *zkconn.Config) {
		f.answer = answersAfter(10 * time.Millisecond)
	})
}
