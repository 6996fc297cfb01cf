package zkconn_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

var world = []jute.ACL{{Perms: jute.PermAll, Scheme: "world", ID: "anyone"}}

// every is each request once; it returns the error.
func every(c *zkconn.Conn) map[jute.Op]func() error {
	create := func(mode int32) func() error {
		return func() error {
			_, err := c.Create("/a", []byte("x"), mode, time.Minute, world)
			return err
		}
	}
	return map[jute.Op]func() error{
		jute.OpCreate: create(jute.FlagEphemeral),
		jute.OpCreate2: func() error {
			_, err := c.Enter(zkconn.Entry{Path: "/a", Data: []byte("x"), Flags: jute.FlagEphemeral, ACL: world})
			return err
		},
		jute.OpCreateContainer: create(jute.FlagContainer),
		jute.OpCreateTTL:       create(jute.FlagPersistentTTL),
		jute.OpGetData:         func() error { _, _, err := c.Get("/a", true); return err },
		jute.OpExists:          func() error { _, _, err := c.Exists("/a", false); return err },
		jute.OpGetChildren2:    func() error { _, _, err := c.Children("/a", false); return err },
		jute.OpSetData:         func() error { _, err := c.Set("/a", nil, 3); return err },
		jute.OpDelete:          func() error { return c.Delete("/a", 3) },
		jute.OpGetACL:          func() error { _, _, err := c.GetACL("/a"); return err },
		jute.OpSetACL:          func() error { _, err := c.SetACL("/a", world, 3); return err },
		jute.OpSync:            func() error { return c.Sync("/a") },
		jute.OpMulti: func() error {
			_, err := c.Multi([]jute.Request{{Op: jute.OpCheck, Path: "/a", Version: 3}})
			return err
		},
	}
}

func TestAnswersOfEveryCode(t *testing.T) {
	t.Parallel()
	want := map[jute.Code]error{
		-6: zkconn.ErrUnsupported, -125: zkconn.ErrQuotaExceeded, -127: zkconn.ErrThrottled, // which the library doesn't know
		jute.NoNode: zkconn.ErrNoNode, jute.NodeExists: zkconn.ErrNodeExists, jute.BadVersion: zkconn.ErrBadVersion,
		jute.NotEmpty: zkconn.ErrNotEmpty, jute.NoChildrenForEphemerals: zkconn.ErrNoChildrenForEphemerals, jute.NoAuth: zkconn.ErrNoAuth,
		jute.InvalidACL: zkconn.ErrInvalidACL, jute.BadArguments: zkconn.ErrBadArguments, jute.AuthFailed: zkconn.ErrAuthFailed,
	}
	for _, code := range []jute.Code{-1, -3, -5, -100, -119, -123, -9999} {
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
				f.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) { return failure(code), true }
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
				f.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) { return failure(code), true }
			})
		})
	}
}

func TestTransaction(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		ops := []jute.Request{
			{Op: jute.OpCheck, Path: "/a"},
			{Op: jute.OpSetData, Path: "/b"},
			{Op: jute.OpDelete, Path: "/c"},
			{Op: jute.OpCreate, Path: "/d", Flags: jute.FlagEphemeralSequential, ACL: world},
		}
		results, err := b.Multi(ops)
		require.NoError(b, err)
		require.Len(b, results, 4)
		require.Equal(b, "/d", results[3].Path)

		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
				failed := func(code jute.Code) jute.Result { return jute.Result{Op: jute.OpError, Err: code} }
				return jute.Reply{Results: []jute.Result{failed(0), failed(jute.QuotaExceeded), failed(-2), failed(-2)}}, true
			}
		})
		results, err = b.Multi(ops)
		require.ErrorIs(b, err, zkconn.ErrQuotaExceeded)
		require.Equal(b, []zkconn.Result{{}, {Err: zkconn.ErrQuotaExceeded}, {Err: zkconn.ErrRolledBack}, {Err: zkconn.ErrRolledBack}}, results)

		results, err = b.Multi(nil)
		require.NoError(b, err)
		require.Empty(b, results)
		_, err = b.Multi([]jute.Request{{Op: jute.OpCreate, Path: "/d", Flags: jute.FlagContainer}})
		require.ErrorIs(b, err, zkconn.ErrUnsupported)
		_, err = b.Multi([]jute.Request{{Op: 77}})
		require.ErrorIs(b, err, zkconn.ErrBadArguments)
	})
}

func TestWhatCannotBeSentIsRefusedAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		_, err := b.Create("no slash", nil, jute.FlagPersistent, 0, nil)
		require.ErrorIs(b, err, zkconn.ErrInvalidPath)
		_, err = b.Create("/a", nil, 17, 0, nil)
		require.ErrorIs(b, err, zkconn.ErrBadArguments)
		require.ErrorIs(b, b.Delete("/a/", -1), zkconn.ErrInvalidPath)
		_, err = b.Enter(zkconn.Entry{Path: "/a", Replace: "/a/", ACL: world})
		require.ErrorIs(b, err, zkconn.ErrInvalidPath)
		_, err = b.Enter(zkconn.Entry{Path: "/a", ACL: world, List: "a"})
		require.ErrorIs(b, err, zkconn.ErrInvalidPath)
		require.Empty(b, v.ops())
		require.NoError(b, b.Sync("/"), "and nothing is blocked by it")
	})
}

// The answers to pings tell that the server has heard of the session, since they were sent.
func TestHeard(t *testing.T) {
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
		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
				return jute.Reply{Xid: q.Xid, Results: []jute.Result{{Op: jute.OpError, Err: jute.SessionExpired}}}, true
			}
		})
		require.ErrorIs(b, b.Prove("/"), zkconn.ErrNoReply)
		_, err := b.Multi([]jute.Request{{Op: jute.OpCheck, Path: "/", Version: -1}})
		require.Error(b, err)
		proved, _ = told[zkconn.Proved](b.sink)
		require.Len(b, proved, 1)
	})
}

// Only what the leader has answered proves anything; what counts is when it was asked.
func TestProved(t *testing.T) {
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
			require.NoError(b, got(b, asked))
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
		f.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
			time.Sleep(time.Second)
			return success(q), true
		}
	})
}

// Requests that wait behind a frame which is stuck when the connection goes are not sent, then or
// later.
func TestRequestsBetweenTwoConnections(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		resume := v.stopReading()
		time.Sleep(timeout*2/3 + time.Millisecond) // the second ping is stuck
		first := bubble.Begin(func() error { _, err := b.Set("/first", nil, -1); return err })
		synctest.Wait()
		var others []<-chan error
		for range 50 {
			others = append(others, bubble.Begin(func() error { _, err := b.Set("/other", nil, -1); return err }))
		}
		synctest.Wait()
		b.script(func() { b.refuse = func(string) error { return errRefused } })
		v.hangUp()
		require.ErrorIs(b, got(b, first), zkconn.ErrNotSent)
		for _, other := range others {
			require.ErrorIs(b, got(b, other), zkconn.ErrNotSent)
		}
		b.script(func() { b.refuse = nil })
		time.Sleep(time.Second)
		b.connected()
		require.Empty(b, b.visit(0).ops())
		require.Empty(b, b.visit(1).ops())
		require.NoError(b, b.Sync("/"))
		resume()
	})
}

func TestRequestBetweenTheLastConnectionAndTheEnd(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		defer v.stopReading()()
		time.Sleep(timeout*2/3 + time.Millisecond)
		first := bubble.Begin(func() error { _, err := b.Set("/first", nil, -1); return err })
		pending(b, first)
		b.Abandon()
		require.ErrorIs(b, got(b, first), zkconn.ErrEnded)
	})
}

// B72: a thousand flaps, and not one of them is lost or out of order.
func TestB72_NoEventIsLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		for i := range 1000 {
			v := b.connected()
			v.fire(jute.NodeCreated, fmt.Sprintf("/%d", i))
			time.Sleep(2 * time.Second)
			v.hangUp()
		}
		synctest.Wait()
		events := b.sink.all()
		require.Len(b, events, 3001)
		for i := range 1000 {
			require.IsType(b, zkconn.Up{}, events[3*i])
			require.Equal(b, zkconn.Fired{Type: jute.NodeCreated, Path: fmt.Sprintf("/%d", i)}, events[3*i+1])
			require.IsType(b, zkconn.Down{}, events[3*i+2])
		}
	})
}

func TestSizesAreThoseOfTheFrames(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		long := strings.Repeat("ü", 100)
		ops := []jute.Request{
			{Op: jute.OpCreate, Path: "/" + long, Data: []byte(long), ACL: append(world, jute.ACL{Scheme: "digest", ID: long})},
			{Op: jute.OpSetData, Path: "/" + long, Data: []byte(long)},
			{Op: jute.OpDelete, Path: "/" + long},
			{Op: jute.OpCheck, Path: "/" + long},
		}
		_, err := b.Create(ops[0].Path, ops[0].Data, jute.FlagEphemeral, 0, ops[0].ACL)
		require.NoError(b, err)
		ttl := zkconn.NewCreate(ops[0].Path, ops[0].Data, jute.FlagPersistentTTL, time.Second, ops[0].ACL)
		_, err = b.Create(ttl.Path, ttl.Data, jute.FlagPersistentTTL, time.Second, ttl.ACL)
		require.NoError(b, err)
		_, err = b.Set(ops[1].Path, ops[1].Data, 0)
		require.NoError(b, err)
		require.NoError(b, b.Delete(ops[2].Path, 0))
		_, err = b.Multi(ops)
		require.NoError(b, err)
		require.Equal(b, []int{
			zkconn.Size(ops[0]), zkconn.Size(ttl), zkconn.Size(ops[1]), zkconn.Size(ops[2]), zkconn.SizeOf(ops...),
		}, v.sizes())
	})
}
