package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func below(t *bubble.World, s *session.Session, path string) []string {
	names, _, _ := s.Children(bubble.Minute(t), path)
	return names
}

// A bucket that was sealed and empty is another one after a deleteall.
func TestDeleteAllWhileAConsumerIsBusy(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q, c := newQueue(t, s), consumer(t, newQueue(t, t.Session()))
		putTogether(t, q, 500)
		for range 500 {
			require.NoError(t, bubble.Get(t, c.Items(), "an item").Ack(bubble.Minute(t)))
		}
		put(t, q, "long")
		long := bubble.Get(t, c.Items(), "an item")
		require.NoError(t, s.DeleteAll(bubble.Minute(t), path))
		put(t, newQueue(t, t.Session()), "new")
		require.ErrorIs(t, long.Ack(bubble.Minute(t)), session.ErrLost)
		require.Equal(t, "new", string(bubble.Get(t, c.Items(), "the item").Data()))
	})
}

// Who has lost an item to a deleteall leaves the claim alone that another one has on the item which
// has its number now.
func TestALateAckLeavesARivalsClaim(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "old")
		old := take(t, q)
		require.NoError(t, s.DeleteAll(bubble.Minute(t), path))
		rival := newQueue(t, t.Session())
		put(t, rival, "new")
		held := take(t, rival)
		require.Equal(t, old.Path(), held.Path())
		require.ErrorIs(t, old.Ack(bubble.Minute(t)), session.ErrLost)
		settled()
		_, there, err := s.Exists(bubble.Minute(t), held.Path())
		require.NoError(t, err)
		require.True(t, there)
		require.NoError(t, held.Ack(bubble.Minute(t)))
	})
}

// What a queue always has is made again.
func TestClaimsAreDeletedByHand(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		require.NoError(t, s.DeleteAll(bubble.Minute(t), path+"/claims"))
		require.Equal(t, []string{"a"}, takes(t, newQueue(t, t.Session()), 1))
	})
}

// A znode below an item, which nobody but a stranger makes, keeps it from being deleted. It is
// passed over, and nobody asks for it again and again.
func TestAnItemWithAChildIsPassedOver(t *testing.T) {
	t.Parallel()
	each(t, "delayed", func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "a", queue.WithDelay(10*time.Second))
		put(t, q, "b", queue.WithDelay(10*time.Second))
		slot := path + "/later/" + below(t, s, path+"/later")[0]
		for _, name := range below(t, s, slot) {
			if data, _, err := s.Get(bubble.Minute(t), slot+"/"+name); err == nil && data[len(data)-1] == 'a' {
				_, err := s.Create(bubble.Minute(t), slot+"/"+name+"/x", nil)
				require.NoError(t, err)
			}
		}
		m := metered(t)
		c := consumer(t, newQueue(t, t.Session()))
		require.Equal(t, "b", string(bubble.Get(t, c.Items(), "the other").Data()))
		require.Error(t, <-c.Errors())
		time.Sleep(30 * time.Second)
		require.Less(t, m.requests(), 100)
	})
	each(t, "a dead letter", func(t *bubble.World) {
		s, x := t.Session(), t.Session()
		q := newQueue(t, s, queue.WithMaxAttempts(1))
		put(t, q, "a")
		take(t, newQueue(t, x, queue.WithMaxAttempts(1)))
		bucket := path + "/items/0-0000000000/"
		_, err := s.Create(bubble.Minute(t), bucket+below(t, s, bucket[:len(bucket)-1])[0]+"/x", nil)
		require.NoError(t, err)
		require.NoError(t, x.Close(bubble.Minute(t)))
		put(t, q, "b")
		c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(1)))
		require.Equal(t, "b", string(bubble.Get(t, c.Items(), "the other").Data()))
		require.Error(t, <-c.Errors())
	})
}

// What cannot be settled does not keep the others from it.
func TestARefusedSettlementKeepsNoOther(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithMaxAttempts(1))
		put(t, q, "bad")
		bucket := path + "/items/0-0000000000"
		_, err := s.Create(bubble.Minute(t), bucket+"/"+below(t, s, bucket)[0]+"/x", nil)
		require.NoError(t, err)
		putTogether(t, q, 20)
		c := consumer(t, newQueue(t, t.Session(), queue.WithMaxAttempts(1)), queue.WithWorkers(3))
		for range 21 {
			if i := bubble.Get(t, c.Items(), "an item"); string(i.Data()) == "bad" {
				require.Error(t, i.Nack(bubble.Minute(t)))
			} else {
				require.NoError(t, i.Ack(bubble.Minute(t)))
			}
		}
	})
}

// The request of an Ack is lost, and its claim is deleted by hand before it is asked what became of
// it: the item is there, so the Ack is not confirmed.
func TestAnAckIsNotConfirmedWhileTheItemIsThere(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s, o := t.Session(), t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		i := take(t, q)
		id, cut := s.Status().SessionID, false
		t.Cleanup(t.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == id && r.Op == zktest.OpMulti && !cut {
				cut = true
				go func() { _ = o.Delete(bubble.Minute(t), i.Path(), -1) }() // ends with its answer
				return zktest.CutBefore
			}
			return zktest.Pass
		}))
		require.ErrorIs(t, i.Ack(bubble.Minute(t)), session.ErrLost)
		require.Equal(t, 1, length(t, newQueue(t, o)))
	})
}

// Sealed buckets that are empty go, one after the other.
func TestEmptyBucketsGo(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		for range 5 {
			putTogether(t, q, 500)
		}
		for _, b := range below(t, s, path+"/items") {
			for _, name := range below(t, s, path+"/items/"+b) {
				require.NoError(t, s.Delete(bubble.Minute(t), path+"/items/"+b+"/"+name, -1))
			}
		}
		c := consumer(t, newQueue(t, t.Session()))
		for range 10 {
			put(t, q, "x")
			require.NoError(t, bubble.Get(t, c.Items(), "an item").Ack(bubble.Minute(t)))
		}
		require.LessOrEqual(t, len(below(t, s, path+"/items")), 2, "number 0 stays, and the open one")
	})
}

// Znodes by hand in line/ are not ephemeral: nobody waits for who never looks.
func TestNobodyStandsWhereAPlaceWasMadeByHand(t *testing.T) {
	t.Parallel()
	for _, znodes := range []int{1, 2} {
		each(t, znodes, func(t *bubble.World) {
			q, p := newQueue(t, t.Session()), newQueue(t, t.Session())
			put(t, p, "a")
			require.Equal(t, []string{"a"}, takes(t, p, 1))
			for n := range znodes {
				require.NoError(t, t.Server.Create(path+fmt.Sprintf("/line/hand-%010d", n), nil))
			}
			c := consumer(t, q)
			time.Sleep(time.Second)
			put(t, p, "b")
			i := bubble.Within(t, 30*time.Minute, c.Items(), "b")
			require.Equal(t, "b", string(i.Data()))
		})
	}
}

// A process with other ACLs stands ahead: that is no reason for Take to fail.
func TestAPlaceThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, p, o := newQueue(t, t.Session()), newQueue(t, t.Session()), t.Session()
		put(t, p, "a")
		require.Equal(t, []string{"a"}, takes(t, p, 1))
		_, err := o.Create(bubble.Minute(t), path+"/line/other-", nil, session.Sequential(), session.Ephemeral(), session.NodeACL(session.AnyoneACL(session.PermDelete)...))
		require.NoError(t, err)
		answer := bubble.Begin(func() error {
			i, err := q.Take(bubble.Minute(t))
			if err == nil {
				err = i.Ack(bubble.Minute(t))
			}
			return err
		})
		time.Sleep(time.Second)
		put(t, p, "b")
		require.NoError(t, bubble.Within(t, 5*time.Minute, answer, "b"))
	})
}
