package interop_test

// Moving a queue of another library: the loop of docs/migration.md, with each request lost, and
// with items that the libraries have put.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// From here to curatorItem the code is that of docs/migration.md, "Moving a queue".

// oldQueue is a queue of another library's.
type oldQueue struct {
	name *regexp.Regexp                    // matches the name of an item's znode; its group is the priority
	item func(data []byte) ([]byte, error) // takes the item out of the znode's data
}

// move moves the items of the old queue, in their order.
func (f oldQueue) move(ctx context.Context, sess *session.Session, from string, to *queue.Queue) error {
	if err := sess.SyncQuorum(ctx, from); err != nil {
		return err
	}
	names, _, err := sess.Children(ctx, from)
	if err != nil {
		return err
	}
	slices.Sort(names) // by priority, if there is any, then by number
	for _, name := range names {
		parts := f.name.FindStringSubmatch(name)
		if parts == nil {
			continue
		}
		data, stat, err := sess.Get(ctx, from+"/"+name)
		if err != nil {
			return err
		}
		item, err := f.item(data)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", from, name, err)
		}
		opts := []queue.PutOption{queue.WithID(fmt.Sprintf("%s-%x", name, stat.Czxid))} // no other item ever has it
		if len(parts) > 1 {
			priority, err := strconv.Atoi(parts[1])
			if err != nil {
				return err
			}
			opts = append(opts, queue.WithPriority(priority-100)) // kazoo's default is 100
		}
		_, err = to.Put(ctx, item, opts...)
		if err != nil && !errors.Is(err, queue.ErrDuplicate) {
			return err
		}
		if err := sess.Delete(ctx, from+"/"+name, stat.Version); err != nil {
			return err
		}
	}
	return nil
}

func plain(data []byte) ([]byte, error) { return data, nil }

var javaQueue = oldQueue{name: regexp.MustCompile(`^qn-[0-9]{10}$`), item: plain}

var kazooQueue = oldQueue{name: regexp.MustCompile(`^entry-([0-9]{3})-[0-9]{10}$`), item: plain}

var curatorQueue = oldQueue{name: regexp.MustCompile(`^queue-[0-9]{10}$`), item: curatorItem}

// curatorItem is the item in a znode of Curator's: a version (4 bytes: 0, 1, 0, 1), a 1 for "an
// item follows", the item's length (4 bytes), the item, and a 2 for "no more".
func curatorItem(data []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(data, []byte{0, 1, 0, 1, 1})
	if !ok || len(rest) < 5 {
		return nil, errors.New("not an item of Curator's")
	}
	length, item := binary.BigEndian.Uint32(rest), rest[4:len(rest)-1]
	if uint64(length) != uint64(len(item)) || rest[len(rest)-1] != 2 {
		return nil, errors.New("not a single item")
	}
	return item, nil
}

// written is a znode as another library writes it, and what it is in Troupe's queue.
type written struct {
	name, znode string // the server adds the number
	data        string // of the item
	priority    int
}

// moving is a queue of theirs, and what is in it.
type moving struct {
	oldQueue
	written []written
	strange []string // znodes that the loop leaves where they are
}

var movings = map[string]moving{
	"java": {
		oldQueue: javaQueue, written: []written{{"qn-", "a", "a", 0}, {"qn-", "", "", 0}, {"qn-", "c", "c", 0}},
		strange: []string{"x", "qn-", "qn-00000000001", "entry-100-0000000000", "queue-0000000000"},
	},
	"kazoo": {
		oldQueue: kazooQueue,
		written:  []written{{"entry-999-", "e", "e", 899}, {"entry-000-", "a", "a", -100}, {"entry-007-", "", "", -93}, {"entry-100-", "c", "c", 0}, {"entry-100-", "d", "d", 0}},
		strange:  []string{"x", "entry-", "entry-1-0000000000", "entry-1000-0000000000", "qn-0000000000", "queue-0000000000"},
	},
	"curator": {
		oldQueue: curatorQueue,
		written: []written{
			{"queue-", "\x00\x01\x00\x01\x01\x00\x00\x00\x03abc\x02", "abc", 0},
			{"queue-", "\x00\x01\x00\x01\x01\x00\x00\x00\x00\x02", "", 0},
			{"queue-", "\x00\x01\x00\x01\x01\x00\x00\x00\x01\x02\x02", "\x02", 0},
		},
		strange: []string{"x", "queue-", "queue-1000000640000000000", "queue-|19A2B3C4D5E|0000000000", "qn-0000000000"},
	},
}

// write makes the znodes as the library does, and what its loop must leave alone. They are not
// listed in their order.
func (m moving) write(t *bubble.World, s *session.Session, path string) {
	t.Helper()
	must(s.Create(bubble.Minute(t), path+"/gone", nil, session.Parents()))
	for _, w := range m.written {
		must(s.Create(bubble.Minute(t), path+"/"+w.name, []byte(w.znode), session.Sequential()))
	}
	require.NoError(t, s.Delete(bubble.Minute(t), path+"/gone", 0)) // whose place in the listing the last one takes
	names, _, err := s.Children(bubble.Minute(t), path)
	require.NoError(t, err)
	require.False(t, slices.IsSorted(names))
	for _, name := range m.strange {
		must(s.Create(bubble.Minute(t), path+"/"+name, []byte("strange")))
	}
}

// arrived takes the moved items, and checks that nothing else came and that the rest has stayed.
func (m moving) arrived(t *bubble.World, s *session.Session, theirs, ours string) {
	t.Helper()
	q := must(queue.New(s, ours))
	require.Equal(t, len(m.written), must(q.Stats(bubble.Minute(t))).Items)
	want := slices.Clone(m.written)
	slices.SortStableFunc(want, func(a, b written) int { return cmp.Compare(a.priority, b.priority) })
	for _, w := range want {
		i := must(q.Take(bubble.Minute(t)))
		require.Equal(t, w.data, string(i.Data()))
		require.Equal(t, w.priority, i.Priority())
		require.NoError(t, i.Ack(bubble.Minute(t)))
	}
	left, _, err := s.Children(bubble.Minute(t), theirs)
	require.NoError(t, err)
	require.ElementsMatch(t, m.strange, left)
}

// With any request or answer lost while a queue is moved, the loop, called again until it succeeds,
// has moved each item once, in order, and has left all other znodes alone.
func TestAQueueIsMovedOnce(t *testing.T) {
	t.Parallel()
	for name, m := range movings {
		// strike has a request of the session, or its answer, be lost: see bubble.EachFate.
		test := func(t *bubble.World, strike func(*session.Session)) {
			s, other := t.Session(), t.Session()
			m.write(t, other, "/theirs")
			q := must(queue.New(s, "/ours"))
			strike(s)
			if m.move(bubble.Minute(t), s, "/theirs", q) != nil {
				require.NoError(t, m.move(bubble.Minute(t), s, "/theirs", q))
			}
			m.arrived(t, other, "/theirs", "/ours")
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "kazoo" { // one loop moves them all
				bubble.Run(t, func(t *bubble.World) { test(t, func(*session.Session) {}) })
				return
			}
			bubble.EachFate(t, func(t *bubble.World, _ int, strike func(*session.Session)) { test(t, strike) })
		})
	}
}

// A znode that is not a single item of Curator's stops the loop, with the path; items before it are
// moved.
func TestWhatIsNoSingleItemStays(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"", "abc", "\x00\x01\x00\x01", "\x00\x01\x00\x01\x02", "\x00\x01\x00\x02\x01\x00\x00\x00\x01a\x02", "\x00\x01\x00\x01\x01\x00\x00\x00\x01a",
		"\x00\x01\x00\x01\x01\x00\x00\x00\x02a\x02", "\x00\x01\x00\x01\x01\xff\xff\xff\xffa\x02", "\x00\x01\x00\x01\x01\x00\x00\x00\x01a\x01\x00\x00\x00\x01b\x02",
	} {
		bubble.Run(t, func(t *bubble.World) {
			s, m := t.Session(), movings["curator"]
			m.write(t, s, "/theirs")
			last := must(s.Create(bubble.Minute(t), "/theirs/queue-", []byte(data), session.Sequential()))
			q := must(queue.New(s, "/ours"))
			require.ErrorContains(t, m.move(bubble.Minute(t), s, "/theirs", q), last)
			require.NoError(t, s.Delete(bubble.Minute(t), last, 0))
			m.arrived(t, s, "/theirs", "/ours")
		})
	}
}

// put is a queue in which a library has put items.
type put struct {
	maker
	oldQueue
	below string   // where its items are, below its path
	first []string // an item that is put last and taken first, and its priority; nil: the queue has no priorities
}

// Items that the libraries have put are moved, and nothing is left.
func TestQueuesOfOthersAreMoved(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	first := []string{"first", "99"}
	onEach(t, map[string]put{
		"DistributedQueue":           {maker{driver: javaDriver, client: "zookeeper", recipe: "queue"}, javaQueue, "", nil},
		"SimpleDistributedQueue":     {maker{driver: javaDriver, client: "curator", recipe: "simple-queue"}, javaQueue, "", nil},
		"Queue":                      {maker{driver: kazooDriver, client: "kazoo", recipe: "queue"}, kazooQueue, "", first},
		"LockingQueue":               {maker{driver: kazooDriver, client: "kazoo", recipe: "locking-queue"}, kazooQueue, "/entries", first},
		"Curator's DistributedQueue": {maker{driver: javaDriver, client: "curator", recipe: "distributed-queue"}, curatorQueue, "", nil},
	}, func(t *testing.T, s *session.Session, address, path string, c put) {
		them := c.make(t, address, path)
		q := must(queue.New(s, path+"-ours"))
		want := strings.Split("a b c d e f g h i j k l", " ")
		for _, data := range want {
			require.NoError(t, them.ask(them.recipe, "put", data))
		}
		if c.first != nil {
			require.NoError(t, them.ask(them.recipe, "put", c.first...))
			want = slices.Insert(want, 0, c.first[0])
		}
		require.NoError(t, c.move(t.Context(), s, path+c.below, q))
		for _, data := range want {
			i := must(q.Take(t.Context()))
			require.Equal(t, data, string(i.Data()))
			require.NoError(t, i.Ack(t.Context()))
		}
		awaitContenders(t, s, path+c.below, 0)
	})
}
