package consume_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Nobody stands in line behind a znode that is not ephemeral.
func TestPersistentPlaceInLine(t *testing.T) {
	t.Parallel()
	w := newStory(0)
	w.refuses = true // it is reported
	place := layout.Root(root).Line() + "/x-"
	w.Add(recipetest.Player{Name: "somebody", Machine: func() machine.Machine {
		return &maker{paths: []string{layout.Root(root).Line()}, item: place}
	}})
	w.until(t, func() bool { return w.Exists(place + "0000000000") })
	for n := range 2 {
		w.addConsumer(n, false, true)
	}
	w.producers[0].Tell(produce{3, 0})
	w.ending = true
	for range 3000 { // what is never claimed is swept for ever
		w.Settle(1)
	}
	for _, i := range w.items {
		require.Equal(t, 1, i.acked, i.body)
	}
	for _, c := range w.consumers {
		require.LessOrEqual(t, len(c.skipped), 1)
	}
}

// Nobody lives behind a znode that is not ephemeral: the journal beside it is inherited.
func TestPersistentZnodeOfAConsumer(t *testing.T) {
	t.Parallel()
	h := newHand(t, consume.Config{Stream: true, Workers: 1})
	h.done("create /q/line/me-1-1-", 0, "/q/line/me-1-1-0000000001")
	h.listed("list /q/line", 0, "me-1-1-0000000001")
	h.listed("list /q/journal", 0, "me-1", "you-1")
	h.listed("list /q/work/alive", 0, "me-1", "you-1")
	h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("list /q/work/returned", 0)
	h.seen("read /q/cursor", 0, "ready-0-0000000000 0")
	h.listed("list "+bucket0, 0, pack(0, 1).Name())
	require.False(t, h.asks("read /q/journal/you-1"))
	h.woke() // the next sweep
	h.seen("read /q/work/alive/you-1", 0, "")
	require.Equal(t, "/q/work/alive/you-1", told[consume.Skipped](h)[0].Path)
	h.seen("read /q/journal/you-1", 3, "3\nready-0-0000000000:0 1")
	h.done("delete /q/journal/you-1", 0)
}

// An entry that was made by hand may name more items than there are, or the same ones as another.
func TestEntriesMadeByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries []string
		items   int    // that come
		journal string // after they were read; "": it is not written
	}{
		"more":    {[]string{"ready-0-0000000000:0:ff:0"}, 1, `"2 fixed\nready-0-0000000000:0 3 1"`},
		"nothing": {[]string{"ready-0-0000000000:0:fc:0"}, 0, `"2 fixed"`},
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
