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
			"WithDeadLetters": queue.WithDeadLetters("dead"), "the queue itself": queue.WithDeadLetters(path), "WithBackoff": queue.WithBackoff(nil), "WithWarnAfter": queue.WithWarnAfter(-1),
		} {
			_, err := queue.New(s, path, opt)
			require.ErrorContains(t, err, name)
		}
		q := newQueue(t, s)
		for name, opts := range map[string][]queue.PutOption{
			"opts[0]":           {nil},
			"WithPriority":      {queue.WithPriority(10_000)},
			"-10000":            {queue.WithPriority(-10_000)},
			"WithDelay":         {queue.WithDelay(-1)},
			"WithID: empty":     {queue.WithID("")},
			"slash":             {queue.WithID("a/b")},
			"longer than 255":   {queue.WithID(strings.Repeat("x", 256))},
			"WithID: relative":  {queue.WithID("..")},
			"U+0000":            {queue.WithID("\x00")},
			"WithID: not UTF-8": {queue.WithID("a\xff")},
			"WithHeader: key":   {queue.WithHeader("", "x")},
			"WithHeader: not":   {queue.WithHeader("k", "\xff")},
			"WithEphemeral":     {queue.WithEphemeral(), queue.WithDelay(time.Second)},
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
