package look_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/look"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(m)
}

const root = layout.Root("/q")

// fixture writes a queue: a pack of three behind the cursor, one of two of which the first is
// settled and the second came back, one item that is claimed and has an id, and two delayed.
func fixture(t *bubble.World, s *session.Session) (pack, back, claimed layout.Znode) {
	t.Helper()
	create := func(path string, data []byte) {
		_, err := s.Create(bubble.Minute(t), path, data, session.Parents())
		require.NoError(t, err)
	}
	guid := func(n string) string { return "5f0c3a52-8d1c-4c6e-9a53-7b1f2c3" + n + "0000" }
	records := func(bodies ...string) []byte {
		var all []layout.Record
		for _, b := range bodies {
			all = append(all, layout.Record{Body: []byte(b)})
		}
		return layout.Pack(all)
	}
	b := place.Bucket{}
	claimed = layout.Znode{GUID: guid("a"), Count: 1, Room: true, Seq: 0}
	back = layout.Znode{GUID: guid("b"), Count: 2, Seq: 1}
	pack = layout.Znode{GUID: guid("c"), Count: 3, Room: true, Seq: 2}
	create(root.Bucket(b)+"/"+claimed.Name(), layout.Pack([]layout.Record{{ID: "red", Body: []byte("0")}}))
	create(root.Bucket(b)+"/"+back.Name(), records("1", "2"))
	create(root.Bucket(b)+"/"+pack.Name(), records("3", "4", "5"))
	create(root.ID("red"), []byte(claimed.Item(0)))
	create(root.Cursor(), layout.Cursor{b.Lane: {Seq: 1}}.Bytes())
	create(root.Journal("tag"), layout.Journal{Claims: []layout.Claim{{Entry: layout.Whole(b, claimed), Offered: 1}}}.Bytes())
	create(root.Returned()+"/"+layout.Returned{Entry: layout.Whole(b, back).Without(1).Counted(2)}.Name(), nil)
	d := layout.Delayed{Znode: layout.Znode{GUID: guid("d"), Count: 2}, Due: 9_999_999_999_999}
	create(root.Bucket(place.Bucket{Lane: place.SlotOf(d.Due, 0)})+"/"+d.Name(), records("6", "7"))
	create(place.Root(root).Stripe(0), []byte("4"))
	return pack, back, claimed
}

func TestLook(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		q := look.Queue{Session: s, Root: root}
		n, err := q.Len(bubble.Minute(t))
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = q.Peek(bubble.Minute(t))
		require.ErrorIs(t, err, look.ErrEmpty)
		pack, back, claimed := fixture(t, s)
		length := func(want int) {
			t.Helper()
			n, err := q.Len(bubble.Minute(t))
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		head := func(id, body string, attempts int) {
			t.Helper()
			e, err := q.Peek(bubble.Minute(t))
			require.NoError(t, err)
			require.Equal(t, id, e.ID)
			require.Equal(t, body, string(e.Record.Body))
			require.Equal(t, attempts, e.Attempts)
		}
		length(7)
		head(back.Item(1), "2", 1)
		require.ErrorIs(t, q.Remove(bubble.Minute(t), back.Item(0)), session.ErrNoNode, "it is settled")
		require.NoError(t, q.Remove(bubble.Minute(t), back.Item(1)))
		require.ErrorIs(t, q.Remove(bubble.Minute(t), back.Item(1)), session.ErrNoNode)
		head(pack.Item(0), "3", 0)
		require.NoError(t, q.Remove(bubble.Minute(t), pack.Item(0)))
		head(pack.Item(1), "4", 0)
		require.NoError(t, q.Remove(bubble.Minute(t), "red"))
		_, there, err := s.Exists(bubble.Minute(t), root.ID("red"))
		require.NoError(t, err)
		require.False(t, there)
		_, there, err = s.Exists(bubble.Minute(t), root.Bucket(place.Bucket{})+"/"+claimed.Name())
		require.NoError(t, err)
		require.False(t, there)
		room, _, err := s.Get(bubble.Minute(t), place.Root(root).Stripe(0))
		require.NoError(t, err)
		require.Equal(t, "6", string(room))
	})
}
