package consume_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// An entry that was made by hand may name more items than there are, or the same ones as another.
func TestEntriesMadeByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries []string
		items   int    // that come
		journal string // after they were read; "": it is not written
	}{
		"more":    {[]string{"ready-0-0000000000:0:ff:0"}, 1, `"2\nready-0-0000000000:0 3 1"`},
		"nothing": {[]string{"ready-0-0000000000:0:fc:0"}, 0, `"2"`},
		"twice":   {[]string{"ready-0-0000000000:0:1:0", "ready-0-0000000000:0:2:0"}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHand(t, consume.Config{Stream: true, Prefetch: 64})
			z := pack(0, 2)
			h.first(1)
			h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
			h.listed("list /q/work/returned", 0, c.entries...)
			h.seen("read /q/cursor", 0, "ready-0-0000000000 0")
			h.listed("list "+bucket0, 0, z.Name())
			h.done("delete /q/work/returned/"+c.entries[0], 1)
			for h.asks("list " + bucket0) { // to find the znode; and it is swept
				h.listed("list "+bucket0, 0, z.Name())
			}
			h.seen("read "+bucket0+"/"+z.Name(), 0, data(z))
			require.False(t, h.asks("read "+bucket0+"/"+z.Name()), "it is read again")
			require.False(t, h.asks("delete "+bucket0), "items that are not settled are deleted")
			require.Equal(t, c.journal != "", h.asks("set /q/journal/me-1 v1 "+c.journal))
			require.Len(t, told[consume.Deliver](h), c.items)
		})
	}
}
