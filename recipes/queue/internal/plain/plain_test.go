package plain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
)

// suite is what queues do on whatever ZooKeeper.
var suite = bubble.Suite{
	{Name: "Java", Test: func(t *bubble.Cluster) { keepsOrder(t, plain.Java, "/qn-") }},
	{Name: "Kazoo", Test: func(t *bubble.Cluster) { keepsOrder(t, plain.Kazoo, "/entry-100-") }},
	{Name: "KazooLocking", Test: func(t *bubble.Cluster) { keepsOrder(t, plain.KazooLocking, "/entries/entry-100-") }},
	{Name: "Curator", Test: func(t *bubble.Cluster) { keepsOrder(t, plain.Curator, "/queue-") }},
	{Name: "CuratorPriority", Test: func(t *bubble.Cluster) { keepsOrder(t, plain.CuratorPriority, "/queue-100000000") }},
	{Name: "CuratorDelay", Test: func(t *bubble.Cluster) { keepsOrder(t, plain.CuratorDelay, "/queue-|0000000001|") }},
	{Name: "priorities", Test: priorities},
	{Name: "claims", Test: claims},
	{Name: "a claim is deleted", Test: aClaimIsDeleted},
	{Name: "waiting", Test: waiting},
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	suite.Embedded(t)
}

func TestLayoutsOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	suite.Real(t)
}

// keepsOrder puts, looks, takes and removes, beside what is foreign.
func keepsOrder(t *bubble.Cluster, l plain.Layout, head string) {
	s := t.Session()
	q, other := newQueue(t, s, l), newQueue(t, t.Session(), l)
	_, err := q.Peek(bubble.Minute(t))
	require.ErrorIs(t, err, plain.ErrEmpty)
	first := put(t, q, l, "a")
	for _, name := range []string{"/x", "/qn", "/qn-1", "/entry-1-0000000001", "/queue-x", "/queue-|x|0000000001", "/queue-|-1|0000000001", "/queue-1-000000001"} {
		_, err := s.Create(bubble.Minute(t), path+name, []byte("foreign"), session.Parents())
		require.NoError(t, err)
	}
	names := put(t, q, l, "b", "c", "d", "e")
	require.Len(t, names, 4)
	require.Equal(t, 5, length(t, other))
	e, err := other.Peek(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, "a", string(e.Data))
	require.Equal(t, first[0], e.Name)
	_, exists, err := s.Exists(bubble.Minute(t), e.Path)
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, l.UsualPriority(), e.Priority)
	require.NoError(t, q.Remove(bubble.Minute(t), names[1]))
	require.ErrorIs(t, other.Remove(bubble.Minute(t), names[1]), session.ErrNoNode)
	require.ErrorIs(t, other.Remove(bubble.Minute(t), "x"), session.ErrNoNode)
	require.ErrorIs(t, other.Remove(bubble.Minute(t), "../x"), session.ErrNoNode)
	got := []string{take(t, q), take(t, other), take(t, q), take(t, other)}
	require.Equal(t, []string{"a", "b", "d", "e"}, got)
	require.Equal(t, 0, length(t, q))
	if l != plain.CuratorDelay { // which has the time in it
		require.Contains(t, path+"/entries/"+first[0]+path+"/"+first[0], path+head)
	}
}

// priorities: lower numbers first, in the range of the layout.
func priorities(t *bubble.Cluster) {
	for l, numbers := range map[plain.Layout][]int{
		plain.Kazoo: {0, 7, 50, 100, 999}, plain.CuratorPriority: {-1 << 31, -7, -1, 0, 1, 100, 1<<31 - 1},
	} {
		q := newQueue(t, t.Session(), l)
		for i := range numbers {
			n := numbers[len(numbers)-1-i]
			for _, data := range []string{"first", "second"} {
				_, err := q.Put(bubble.Minute(t), [][]byte{[]byte(data)}, n, 0)
				require.NoError(t, err)
			}
		}
		for _, n := range numbers {
			for _, data := range []string{"first", "second"} {
				e, err := q.Take(bubble.Minute(t))
				require.NoError(t, err)
				require.Equal(t, n, e.Priority)
				require.Equal(t, data, string(e.Data))
			}
		}
	}
}

// claims are possessions, and respected.
func claims(t *bubble.Cluster) {
	s := t.Session()
	mine, others := newQueue(t, s, plain.KazooLocking), newQueue(t, t.Session(), plain.KazooLocking)
	names := put(t, mine, plain.KazooLocking, "a", "b")
	a := claim(t, mine)
	require.Equal(t, "a", string(a.Entry.Data))
	require.Equal(t, names[0], a.Entry.Name)
	require.Equal(t, path+"/taken/"+names[0], a.Path())
	stat, _, err := s.Exists(bubble.Minute(t), a.Path())
	require.NoError(t, err)
	require.Equal(t, stat.Czxid, a.Token())
	require.Equal(t, s.Status().Epoch, a.Epoch)
	require.True(t, a.Valid())
	_, err = a.Commit(bubble.Minute(t), session.CreateOp("/result", nil))
	require.NoError(t, err)

	e, err := others.Peek(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, "b", string(e.Data))
	b := claim(t, others)
	require.Equal(t, "b", string(b.Entry.Data))
	require.Greater(t, b.Token(), a.Token())
	require.Equal(t, 2, length(t, mine))

	require.NoError(t, a.Nack(bubble.Minute(t)))
	bubble.Closes(t, a.Done(), "the release")
	require.ErrorIs(t, a.Err(), session.ErrReleased)
	require.NoError(t, a.Nack(bubble.Minute(t)), "again")
	require.ErrorIs(t, a.Ack(bubble.Minute(t)), session.ErrReleased)
	again := claim(t, others)
	require.Equal(t, "a", string(again.Entry.Data))
	require.Greater(t, again.Token(), a.Token())
	require.NoError(t, again.Ack(bubble.Minute(t)))
	require.NoError(t, again.Ack(bubble.Minute(t)), "again")
	require.ErrorIs(t, again.Err(), session.ErrReleased)
	require.NoError(t, mine.Remove(bubble.Minute(t), names[1]), "a claim does not protect from that")
	require.ErrorIs(t, b.Ack(bubble.Minute(t)), session.ErrLost)
	bubble.Closes(t, b.Done(), "the loss")
	require.Empty(t, children(t, s, path+"/entries"))
	require.Empty(t, children(t, s, path+"/taken"))
}

// aClaimIsDeleted: that ends the possession, and the next claim is not touched.
func aClaimIsDeleted(t *bubble.Cluster) {
	s := t.Session()
	mine, others := newQueue(t, s, plain.KazooLocking), newQueue(t, t.Session(), plain.KazooLocking)
	put(t, mine, plain.KazooLocking, "a")
	for range 2 {
		c := claim(t, mine)
		time.Sleep(200 * time.Millisecond) // until it is watched
		require.NoError(t, s.Delete(bubble.Minute(t), c.Path(), -1))
		next := claim(t, others)
		bubble.Closes(t, c.Done(), "the loss")
		require.ErrorIs(t, c.Err(), session.ErrDeleted)
		require.ErrorIs(t, c.Ack(bubble.Minute(t)), session.ErrLost)
		require.ErrorIs(t, c.Nack(bubble.Minute(t)), session.ErrLost)
		require.NoError(t, mine.Close(bubble.Minute(t)))
		require.Len(t, children(t, s, path+"/taken"), 1)
		mine = newQueue(t, s, plain.KazooLocking)
		require.NoError(t, next.Nack(bubble.Minute(t)))
	}
}

// waiting callers get what comes, one each.
func waiting(t *bubble.Cluster) {
	for _, l := range []plain.Layout{plain.Java, plain.Kazoo, plain.KazooLocking, plain.Curator} {
		q, putter := newQueue(t, t.Session(), l), newQueue(t, t.Session(), l)
		got := make(chan string, 8)
		for i := range cap(got) {
			from := []*plain.Queue{q, putter}[i%2]
			go func() { // ends with its item
				e, err := from.Take(bubble.Minute(t))
				got <- string(e.Data) + map[bool]string{true: " failed"}[err != nil]
			}()
		}
		var all []string
		for i := range cap(got) {
			time.Sleep(10 * time.Millisecond)
			put(t, putter, l, string(rune('a'+i)))
		}
		for range cap(got) {
			all = append(all, bubble.Within(t, time.Minute, got, "an item"))
		}
		require.ElementsMatch(t, []string{"a", "b", "c", "d", "e", "f", "g", "h"}, all)
		require.NoError(t, q.Close(bubble.Minute(t)))
		require.NoError(t, putter.Close(bubble.Minute(t)))
	}
}
