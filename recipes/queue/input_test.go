package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// Bad input is refused at once, with an error that names it, and nothing is changed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		_, err := queue.New(nil, path)
		require.ErrorContains(t, err, "s: nil")
		for _, bad := range []string{"", "orders", "/orders/", "/a//b", "/"} {
			_, err := queue.New(s, bad)
			require.ErrorIs(t, err, session.ErrInvalidPath, bad)
			require.ErrorContains(t, err, "path")
		}
		for name, opt := range map[string]queue.Option{
			"opts[0]": nil, "WithCapacity": queue.WithCapacity(0), "WithMaxAttempts": queue.WithMaxAttempts(-1), "WithVisibility": queue.WithVisibility(0),
			"WithDeadLetters": queue.WithDeadLetters("dead"), "WithShards": queue.WithShards(0), "WithLayout": queue.WithLayout(99),
		} {
			_, err := queue.New(s, path, opt)
			require.ErrorContains(t, err, name)
		}
		_, err = queue.New(s, path, queue.WithShards(257))
		require.ErrorContains(t, err, "WithShards")
		for name, opt := range map[string]queue.Option{
			"WithCapacity": queue.WithCapacity(1), "WithShards": queue.WithShards(2), "WithMaxAttempts": queue.WithMaxAttempts(1),
		} {
			_, err := queue.New(s, path, queue.WithLayout(queue.Kazoo), opt)
			require.ErrorIs(t, err, session.ErrUnsupported)
			require.ErrorContains(t, err, name)
		}
		q := newQueue(t, s)
		for name, opts := range map[string][]queue.PutOption{
			"opts[0]":          {nil},
			"WithPriority":     {queue.WithPriority(10_000)},
			"-10000":           {queue.WithPriority(-10_000)},
			"WithDelay":        {queue.WithDelay(-1)},
			"WithID: empty":    {queue.WithID("")},
			"slash":            {queue.WithID("a/b")},
			"longer than 255":  {queue.WithID(strings.Repeat("x", 256))},
			"WithID: relative": {queue.WithID("..")},
			"U+0000":           {queue.WithID("\x00")},
			"WithEphemeral":    {queue.WithEphemeral(), queue.WithDelay(time.Second)},
		} {
			_, err := q.Put(bubble.Minute(t), []byte("x"), opts...)
			require.ErrorContains(t, err, name)
			var oe *session.OpError
			require.ErrorAs(t, err, &oe)
			require.Equal(t, path, oe.Path)
		}
		_, err = q.PutAll(bubble.Minute(t), [][]byte{{}, {}}, queue.WithID("red"))
		require.ErrorContains(t, err, "WithID")
		_, err = q.PutAll(bubble.Minute(t), nil)
		require.ErrorContains(t, err, "items")
		_, err = newQueue(t, s, queue.WithCapacity(1)).Put(bubble.Minute(t), nil, queue.WithEphemeral())
		require.ErrorContains(t, err, "WithEphemeral")
		require.ErrorContains(t, q.Remove(bubble.Minute(t), ""), "id")
		for _, n := range []int{0, -1, 10_001} {
			_, err = q.Consume(queue.WithPrefetch(n))
			require.ErrorContains(t, err, "WithPrefetch")
		}
		_, err = q.Consume(nil)
		require.ErrorContains(t, err, "opts[0]")
		require.NotContains(t, t.Server.Dump(), path)

		put(t, q, "x")
		i := take(t, q)
		require.ErrorContains(t, i.Extend(bubble.Minute(t), 0), "d:")
	})
}

// What a layout of others can't express is refused, and what they write is read.
func TestLayouts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layout  queue.Layout
		theirs  []string // as they are created, sequential
		taken   string
		claimed bool
	}{
		"Java":          {layout: queue.Java, theirs: []string{"/qn-", "/qn-"}},
		"kazoo":         {layout: queue.Kazoo, theirs: []string{"/entry-100-", "/entry-050-"}},
		"kazoo locking": {layout: queue.KazooLocking, theirs: []string{"/entries/entry-100-", "/entries/entry-050-"}, taken: "/taken/", claimed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				s := t.Session()
				q := newQueue(t, s, queue.WithLayout(c.layout))
				_, err := q.Put(bubble.Minute(t), nil, queue.WithID("red"))
				require.ErrorIs(t, err, session.ErrUnsupported)
				_, err = q.Put(bubble.Minute(t), nil, queue.WithDelay(time.Second))
				require.ErrorIs(t, err, session.ErrUnsupported)
				if c.layout == queue.Java {
					_, err = q.Put(bubble.Minute(t), nil, queue.WithPriority(1))
					require.ErrorIs(t, err, session.ErrUnsupported)
				} else {
					_, err = q.Put(bubble.Minute(t), nil, queue.WithPriority(1000))
					require.ErrorContains(t, err, "WithPriority")
				}
				if !c.claimed {
					_, err = q.Consume()
					require.ErrorIs(t, err, session.ErrUnsupported)
				}
				put(t, q, "ours")
				for n, name := range c.theirs {
					_, err := s.Create(bubble.Minute(t), path+name, []byte{byte('0' + n)}, session.Sequential())
					require.NoError(t, err)
				}
				require.Equal(t, 3, length(t, q))
				want := []string{"ours", "0", "1"}
				if c.layout != queue.Java {
					want = []string{"1", "ours", "0"} // by their priorities
				}
				require.Equal(t, want[0], string(mustPeek(t, q).Data))
				i := take(t, q)
				require.Equal(t, want[0], string(i.Data()))
				require.Equal(t, c.claimed, i.Hold != nil)
				if c.claimed {
					require.Contains(t, i.Path(), path+c.taken)
					require.Equal(t, want[1], string(mustPeek(t, q).Data))
					second := take(t, newQueue(t, t.Session(), queue.WithLayout(c.layout)))
					require.Equal(t, want[1], string(second.Data()))
					require.NoError(t, second.Nack(bubble.Minute(t)))
				}
				require.NoError(t, i.Ack(bubble.Minute(t)))
				require.Equal(t, want[1:], takes(t, q, 2))
				require.Equal(t, 0, length(t, q))
				put(t, q, "more")
				require.NoError(t, q.Remove(bubble.Minute(t), mustPeek(t, q).ID))
				require.Equal(t, 0, length(t, q))
			})
		})
	}
}
