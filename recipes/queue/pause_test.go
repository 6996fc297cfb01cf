package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The receiver may change an item's data. What pauses, and a dead letter, is what was put.
func TestTheReceiverMayChangeTheData(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(t *bubble.World, q *queue.Queue) *queue.Queue{
		"it pauses":     func(_ *bubble.World, q *queue.Queue) *queue.Queue { return q },
		"a dead letter": func(t *bubble.World, _ *queue.Queue) *queue.Queue { return deadLetters(t, t.Session()) },
	} {
		each(t, name, func(t *bubble.World) {
			s, opts := t.Session(), []queue.Option(nil)
			if name == "a dead letter" {
				opts = append(opts, queue.WithMaxAttempts(1))
			}
			q := newQueue(t, s, opts...)
			put(t, q, "secret")
			i := take(t, q)
			clear(i.Data())
			require.NoError(t, i.Nack(bubble.Minute(t), queue.After(time.Second)))
			require.Equal(t, []string{"secret"}, takes(t, from(t, q), 1))
		})
	}
}

// Whatever request or reply is lost: an item pauses once, keeps what it is, and is a dead letter
// once. Its id is taken as long as it pauses, and free then. Close waits for what is under way.
func TestAPauseAtAnyLostRequestOrReply(t *testing.T) {
	t.Parallel()
	for lost, fate := range bubble.Fates {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			atEach(t, func(*bubble.World, *session.Session) zktest.Verdict { return fate }, func(t *bubble.World, s *session.Session) {
				o, q := newQueue(t, t.Session()), newQueue(t, s, queue.WithMaxAttempts(2))
				put(t, o, "a", queue.WithID("red"), queue.WithPriority(5), queue.WithHeader("k", "v"))
				require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.After(time.Minute)))
				refuses(t, o, queue.ErrDuplicate, queue.WithID("red"))
				i, err := q.Take(t.Context())
				require.NoError(t, err)
				require.Equal(t, 2, i.Attempt())
				nacked := bubble.Begin(func() error { return i.Nack(bubble.Minute(t)) })
				synctest.Wait() // it is under way: Done closes before that
				bubble.Closed(t, i.Done(), "the possession")
				require.NoError(t, q.Close(bubble.Minute(t)))
				require.NoError(t, bubble.Now(t, nacked, "the answer"))
				put(t, o, "b", queue.WithID("red"))
				require.Equal(t, []string{"b"}, takes(t, o, 1))
				require.Equal(t, 0, length(t, o))
				dead := take(t, deadLetters(t, t.Session()))
				require.Equal(t, []any{"red", 5, "v", 1}, []any{dead.ID(), dead.Priority(), dead.Header("k"), dead.Attempt()})
				require.NoError(t, dead.Ack(bubble.Minute(t)))
				require.Equal(t, 0, length(t, deadLetters(t, t.Session())))
			})
		})
	}
}
