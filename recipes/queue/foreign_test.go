package queue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
)

// Foreign znodes are left alone.
func TestForeignZnodes(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := open(t, z)
		q := newQueue(t, s)
		put(t, q, "a")
		bucket := path + "/ready-0-0000000000"
		for _, name := range []string{"x", "_c_x", "queue-0-0000000001", "taken-", "taken-1-2-3", "back-x", "body-", "body-x", "_c_f81d4fae-7dec-4d0b-a765-00a0c91e6bf6-queue-1-0000000009"} {
			_, err := s.Create(patience(t), bucket+"/"+name, []byte("foreign"))
			require.NoError(t, err)
		}
		for _, name := range []string{"x", "ready-", "ready-x-0000000000", "later-0", "ready-0-00000000001", "ready-99999-0000000000"} {
			_, err := s.Create(patience(t), path+"/"+name, nil)
			require.NoError(t, err)
		}
		put(t, q, "b")
		require.Equal(t, 2, length(t, q))
		require.Equal(t, []string{"a", "b"}, takes(t, newQueue(t, s), 2))
	})
}
