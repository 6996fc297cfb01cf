package queue_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
)

// Foreign znodes are left alone.
func TestForeignZnodes(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s)
		put(t, q, "a")
		bucket := path + "/work/ready-0-0000000000"
		for _, name := range []string{"x", "_c_x", "queue-0-0000000001", "taken-", "taken-1-2-3", "back-x", "body-", "body-x", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-queue-1-0000000009", "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-1-", "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-0-0000000009", "f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-65-0000000009"} {
			_, err := s.Create(bubble.Minute(t), bucket+"/"+name, []byte("foreign"))
			require.NoError(t, err)
		}
		for _, name := range []string{"x", "ready-", "ready-x-0000000000", "later-0", "ready-0-00000000001", "ready-99999-0000000000"} {
			_, err := s.Create(bubble.Minute(t), path+"/work/"+name, nil)
			require.NoError(t, err)
		}
		put(t, q, "b")
		require.Equal(t, 2, length(t, q))
		require.Equal(t, []string{"a", "b"}, takes(t, newQueue(t, s), 2))
	})
}

// What looks like a pack and is none is left alone, by whoever takes, looks or removes.
func TestForeignPacks(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := newQueue(t, s, queue.WithMaxAttempts(3))
		put(t, q, "a")
		const family = "f81d4fae-7dec-4d0b-a765-00a0c91e"
		prefix := path + "/work/ready-0-0000000000/" + family
		bodies := []string{"", "x", "3:abc,", "1:a,1:b,1:c,", "99999999999999999999:a,", "-1:,", "5:abc,", "1:a", "1:a,1:b"}
		for n, body := range bodies {
			_, err := s.Create(bubble.Minute(t), fmt.Sprintf("%s0001-2-%010d", prefix, n+1), []byte(body))
			require.NoError(t, err)
		}
		for _, name := range []string{
			"0001-0-0000000009", "0001-65-0000000009", "0001--1-0000000009", "000x-1-0000000009", "0001-of0-0000000009", "0001-of65-0000000009",
			"0001-1", "0001-1-2-0000000009", "0001-01-0000000009", "0001-1++-0000000009",
		} {
			_, err := s.Create(bubble.Minute(t), prefix+name, []byte("1:a,"))
			require.NoError(t, err)
		}
		ids, err := q.PutAll(bubble.Minute(t), data(0, 3))
		require.NoError(t, err)
		require.Equal(t, "a", string(mustPeek(t, q).Data))
		require.Error(t, q.Remove(bubble.Minute(t), family+"0001"))
		require.NoError(t, q.Remove(bubble.Minute(t), ids[1]))
		require.Equal(t, []string{"a", "0", "2"}, takes(t, q, 3))
		c := consumer(t, q, queue.WithAutoAck())
		put(t, q, "b")
		require.Equal(t, "b", string(bubble.Get(t, c.Items(), "an item").Data()))
		require.NoError(t, c.Close(bubble.Minute(t)))
	})
}
