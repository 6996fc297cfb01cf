package plain

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// Names, as the libraries write them, and what is none of theirs.
func TestNames(t *testing.T) {
	t.Parallel()
	for l, c := range map[Layout]struct {
		good map[string]rank
		bad  []string
	}{
		Java: {
			map[string]rank{"qn-0000000000": 0, "qn-2147483647": 0, "qn--000000001": 0, "qn--2147483648": 0},
			[]string{"", "qn-", "qn-000000000", "qn-00000000001", "qn-x000000000", "qn-+000000001", "qn-2147483648", "Qn-0000000000", "xqn-0000000000"},
		},
		Kazoo: {
			map[string]rank{"entry-000-0000000000": 0, "entry-100-0000000007": 100, "entry-999--000000007": 999, "entry-1000-0000000007": 1000},
			[]string{"entry-0000000000", "entry--0000000000", "entry-1-0000000000", "entry--01-0000000000", "entry-0100-0000000000", "entry-x00-0000000000", "entry-100-x", "entry-100-/000000000"},
		},
		Curator: {
			map[string]rank{"queue-0000000000": 0, "queue--2147483648": 0},
			[]string{"queue-", "queue-1000000050000000003", "queue-|id|0000000003", "queue-x"},
		},
		CuratorPriority: {
			map[string]rank{
				"queue-1000000050000000003": 5, "queue-17FFFFFFF0000000003": 1<<31 - 1, "queue-0FFFFFFFF0000000003": -1, "queue-0800000000000000003": -1 << 31,
				"queue-100000005-2147483648": 5,
			},
			[]string{"queue-0000000000", "queue-0000000050000000003", "queue-1FFFFFFFF0000000003", "queue-1fffffff00000000003", "queue-2000000050000000003", "queue-100000005"},
		},
		CuratorDelay: {
			map[string]rank{"queue-|00000000|0000000001": 0, "queue-|19A2B3C4D5E|0000000001": 0x19A2B3C4D5E, "queue-|7FFFFFFFFFFFFFFF|0000000001": 1<<63 - 1},
			[]string{"queue-0000000001", "queue-||0000000001", "queue-|0|0000000001", "queue-|-0000001|0000000001", "queue-|FFFFFFFFFFFFFFFF|0000000001", "queue-|19a2b3c4d5e|0000000001"},
		},
	} {
		for name, rank := range c.good {
			i, ok := layouts[l].parse(name)
			require.True(t, ok, name)
			require.Equal(t, rank, i.rank, name)
			require.Equal(t, name, i.Name)
		}
		for _, name := range c.bad {
			_, ok := layouts[l].parse(name)
			require.False(t, ok, name)
		}
	}
}

// What a layout can't express is refused.
func TestPriorities(t *testing.T) {
	t.Parallel()
	for l, c := range map[Layout]struct{ low, high int }{Kazoo: {0, 999}, KazooLocking: {0, 999}, CuratorPriority: {-1 << 31, 1<<31 - 1}} {
		require.True(t, l.Ranked())
		for _, n := range []int{c.low, c.high, l.UsualPriority()} {
			require.NoError(t, l.ValidPriority(n))
		}
		for _, n := range []int{c.low - 1, c.high + 1} {
			require.ErrorContains(t, l.ValidPriority(n), "WithPriority: "+strconv.Itoa(n))
		}
	}
	for _, l := range []Layout{Java, Curator, CuratorDelay} {
		require.False(t, l.Ranked())
		require.ErrorIs(t, l.ValidPriority(1), session.ErrUnsupported)
		require.ErrorContains(t, l.ValidPriority(1), "WithPriority")
	}
	require.False(t, Layout(0).Known())
	require.False(t, Layout(99).Known())
}

// What Curator's ItemSerializer writes, and what it would not.
func TestWhatCuratorWrites(t *testing.T) {
	t.Parallel()
	l := layouts[Curator]
	for text, items := range map[string][][]byte{
		"\x00\x01\x00\x01\x01\x00\x00\x00\x03abc\x02":                         {[]byte("abc")},
		"\x00\x01\x00\x01\x01\x00\x00\x00\x00\x02":                            {{}},
		"\x00\x01\x00\x01\x01\x00\x00\x00\x01a\x01\x00\x00\x00\x02bc\x02":     {[]byte("a"), []byte("bc")},
		"\x00\x01\x00\x01\x02":                                                nil,
		"\x00\x01\x00\x01\x01\x00\x00\x00\x01a\x02what is behind the end\x01": {[]byte("a")},
	} {
		got, ok := l.unwrap([]byte(text))
		require.True(t, ok, "%q", text)
		require.Equal(t, items, got, "%q", text)
		if len(items) == 1 && len(text) < 20 {
			require.Equal(t, text, string(l.wrap(items[0])))
		}
	}
	for _, text := range []string{
		"", "abc", "\x00\x01\x00", "\x00\x01\x00\x01", "\x00\x01\x00\x02\x02", "\x00\x01\x00\x01\x03", "\x00\x01\x00\x01\x01\x00\x00\x00",
		"\x00\x01\x00\x01\x01\x00\x00\x00\x02a", "\x00\x01\x00\x01\x01\x00\x00\x00\x01a", "\x00\x01\x00\x01\x01\xff\xff\xff\xffa\x02",
	} {
		_, ok := l.unwrap([]byte(text))
		require.False(t, ok, "%q", text)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("queue-1000000050000000003")
	f.Add("entry-100-0000000001")
	f.Add("queue-|00000000|0000000001")
	f.Fuzz(func(t *testing.T, s string) {
		for l, of := range layouts {
			if i, ok := of.parse(s); ok && i.Name != s {
				t.Fatal(l, s)
			}
			_, _ = of.unwrap([]byte(s))
		}
	})
}
