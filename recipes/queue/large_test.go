package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// ZooKeeper's Tech Note 4: a queue that has grown can't be listed any more, so it can't be drained.
// Here no znode has more children than a listing of a tenth of a megabyte, 200,000 items in the
// queue or not (that many in soak, otherwise a tenth of them); it can be counted, looked at and
// drained in order; and one that is too large is refused at once.
func TestB57_TwoHundredThousandItems(t *testing.T) {
	t.Parallel()
	z := zktest.Start(t, zktest.WithJournal(1))
	s, err := session.Open(bubble.Minute(t), z.Hosts(), session.WithDialer(z.Dialer()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
	large(t, s, tier.Count(20_000, 200_000))
}

// The same on a real server, whose limit on an answer is a client's.
func TestB57_ManyItemsOnRealZooKeeper(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	zk := ensemble.Start(t, 1)
	s, err := session.Open(bubble.Minute(t), zk.Servers())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(bubble.Minute(t))) })
	large(t, s, 20_000)
}

func large(t testing.TB, s *session.Session, items int) {
	const each = 1000
	q := newQueue(t, s)
	for from := 0; from < items; from += each {
		data := make([][]byte, each)
		for n := range data {
			data[n] = fmt.Append(nil, from+n)
		}
		_, err := q.PutAll(bubble.Minute(t), data)
		require.NoError(t, err)
	}
	require.Equal(t, items, length(t, q))
	largest := 0
	buckets, _, err := s.Children(bubble.Minute(t), path)
	require.NoError(t, err)
	for _, bucket := range append(buckets, "") {
		names, _, err := s.Children(bubble.Minute(t), strings.TrimSuffix(path+"/"+bucket, "/"))
		require.NoError(t, err)
		largest = max(largest, len(strings.Join(names, "    ")))
	}
	require.Less(t, largest, 100<<10, "bytes of a listing")
	require.Equal(t, "0", string(mustPeek(t, q).Data))

	_, err = q.Put(bubble.Minute(t), make([]byte, 1<<20))
	require.ErrorIs(t, err, session.ErrTooLarge)
	c := consumer(t, q, queue.WithPrefetch(500))
	for n := range 3 * each {
		i := bubble.Get(t, c.Items(), "an item")
		require.Equal(t, fmt.Sprint(n), string(i.Data()))
		go func() { _ = i.Ack(bubble.Minute(t)) }() // ends with its answer
	}
	require.NoError(t, c.Close(bubble.Minute(t)))
}

// What can be put can be claimed, given back and sent to the dead letters, however large it is.
func TestLargestItem(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		q, err := queue.New(t.Session(), "/q", queue.WithMaxAttempts(2))
		require.NoError(t, err)
		dead, err := queue.New(t.Session(), "/q/dead")
		require.NoError(t, err)
		for name, try := range map[string]func(data []byte) error{
			"alone": func(data []byte) error {
				_, err := q.Put(bubble.Minute(t), data)
				return err
			},
			"in a pack": func(data []byte) error {
				_, err := q.PutAll(bubble.Minute(t), [][]byte{data, {}})
				return err
			},
		} {
			size := 1 << 20
			for err := try(make([]byte, size)); err != nil; err = try(make([]byte, size)) {
				require.ErrorIs(t, err, session.ErrTooLarge)
				size -= 16
			}
			require.Greater(t, size, 1_040_000)
			for range 2 {
				require.NoError(t, take(t, q).Nack(bubble.Minute(t), queue.After(0)), name)
			}
			require.Len(t, takes(t, dead, 1)[0], size)
			if n := length(t, q); n > 0 {
				takes(t, q, n)
			}
		}
	})
}
