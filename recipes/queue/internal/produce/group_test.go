package produce_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
)

// crowd has puts told at once, and tells what they are answered with and how many transactions they
// took. ZooKeeper refuses every transaction with something in it, and does not say what.
func crowd(t *testing.T, poison string, puts []produce.Put) (answers map[uint64]error, transactions int) {
	t.Helper()
	answers = make(map[uint64]error)
	w := recipetest.NewWorld(func(int) int { return 0 })
	a := w.Add(recipetest.Player{
		Name:    "p",
		Machine: func() machine.Machine { return produce.New(produce.Config{Root: queue, GUID: "p"}) },
		Perform: func(_ *recipetest.Actor, e machine.Effect) {
			if s, ok := e.(produce.Settled); ok {
				answers[s.No] = s.Err
			}
		},
	})
	for _, p := range puts {
		a.Tell(p)
	}
	poisoned := func(e machine.Effect) bool {
		tr, ok := e.(machine.Transact)
		for _, op := range tr.Ops {
			if bytes.Contains(op.Data, []byte(poison)) {
				return ok
			}
		}
		return false
	}
	for a.Refuse(poisoned) || w.Step() {
	}
	return answers, strings.Count(w.Story(), "▶ Transact")
}

func guid(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-00000000abcd", n) }

func single(no int, i produce.Item) produce.Put {
	return produce.Put{No: uint64(no), GUID: guid(no), Items: []produce.Item{i}}
}

// Of puts that share a transaction each is answered for itself.
func TestRefusalsAreFoundInAFewTransactions(t *testing.T) {
	t.Parallel()
	var puts []produce.Put
	for n := 1; n <= 300; n++ {
		i := produce.Item{Data: []byte("x")}
		switch n % 30 {
		case 7:
			i.ID = "red"
		case 13:
			i.Data = []byte("poison")
		}
		puts = append(puts, single(n, i))
	}
	answers, transactions := crowd(t, "poison", puts)
	require.Len(t, answers, 300)
	for no, err := range answers {
		switch {
		case no%30 == 7 && no > 30:
			require.ErrorIs(t, err, produce.ErrDuplicate)
		case no%30 == 13:
			require.ErrorIs(t, err, recipetest.ErrRefused)
		default:
			require.NoError(t, err)
		}
	}
	t.Logf("%d transactions", transactions)
	require.LessOrEqual(t, transactions, 120)
}

// What all are refused for costs each a transaction, and not more.
func TestARefusalThatAllHaveInCommon(t *testing.T) {
	t.Parallel()
	var puts []produce.Put
	for n := 1; n <= 100; n++ {
		puts = append(puts, single(n, produce.Item{Data: []byte("poison")}))
	}
	answers, transactions := crowd(t, "poison", puts)
	require.Len(t, answers, 100)
	t.Logf("%d transactions", transactions)
	require.LessOrEqual(t, transactions, 110)
}

// A queue that is too full for many of them is proven so once.
func TestAFullQueueIsProvenOnce(t *testing.T) {
	t.Parallel()
	answers := make(map[uint64]error)
	w := recipetest.NewWorld(func(int) int { return 0 })
	a := w.Add(recipetest.Player{
		Name:    "p",
		Machine: func() machine.Machine { return produce.New(produce.Config{Root: queue, GUID: "p", Capacity: 40}) },
		Perform: func(_ *recipetest.Actor, e machine.Effect) {
			if s, ok := e.(produce.Settled); ok {
				answers[s.No] = s.Err
			}
		},
	})
	for n := 1; n <= 100; n++ {
		a.Tell(single(n, produce.Item{}))
	}
	for w.Step() {
	}
	full := 0
	for _, err := range answers {
		if errors.Is(err, produce.ErrFull) {
			full++
		}
	}
	require.Len(t, answers, 100)
	require.Equal(t, 60, full)
	require.LessOrEqual(t, strings.Count(w.Story(), "▶ Transact"), 6)
}

// A set lies in znodes of which each consumer that lives can have one, and of bounded size. Its
// GUIDs do not depend on that.
func TestASetIsDivided(t *testing.T) {
	t.Parallel()
	items := make([]produce.Item, 70)
	items[66].Data, items[67].Data, items[68].Data = make([]byte, 10_000), make([]byte, 10_000), make([]byte, 20_000)
	divided := func(consumers int) (heads []string) {
		w := recipetest.NewWorld(func(int) int { return 0 })
		var guids []string
		a := w.Add(recipetest.Player{
			Name: "p",
			Machine: func() machine.Machine {
				return produce.New(produce.Config{Root: queue, GUID: "p", Limit: 1000})
			},
			Perform: func(_ *recipetest.Actor, e machine.Effect) {
				if s, ok := e.(produce.Settled); ok {
					guids = s.GUIDs
				}
			},
		})
		m := make(births, consumers)
		for n := range m {
			m[n] = queue.Alive(fmt.Sprint(n))
		}
		w.Add(recipetest.Player{Name: "consumers", Machine: func() machine.Machine { return m }})
		for w.Step() {
		}
		a.Tell(produce.Put{No: 1, GUID: guid(1), Items: items})
		for w.Step() {
		}
		require.Len(t, guids, 70)
		for n, g := range guids {
			require.Equal(t, place.Member(guid(1), n+1), g)
		}
		for _, name := range w.Children(queue.Bucket(place.Bucket{})) {
			heads = append(heads, name[32:len(name)-11])
		}
		return heads
	}
	require.Equal(t, []string{"0001-64", "0041-3", "0044-1", "0045-1", "0046-1"}, divided(0))
	require.Equal(t, []string{"0001-35", "0024-32", "0044-1", "0045-1", "0046-1"}, divided(2))
	require.Len(t, divided(70), 70)
}

// births is a machine that makes znodes.
type births []string

func (b births) Step(ev machine.Event) (effects []machine.Effect) {
	if ev, ok := ev.(machine.EpochBegan); ok {
		for n, path := range b {
			effects = append(effects, machine.Ensure{Epoch: ev.Epoch, Ask: uint64(n + 1), Path: path})
		}
	}
	return effects
}

// Each ephemeral item has a znode of its own: what a consumer takes from a znode with several, to
// return it, is not ephemeral.
func TestEphemeralItemsLieAlone(t *testing.T) {
	t.Parallel()
	for _, ephemeral := range []bool{false, true} {
		w := recipetest.NewWorld(func(int) int { return 0 })
		a := w.Add(recipetest.Player{
			Name:    "p",
			Machine: func() machine.Machine { return produce.New(produce.Config{Root: queue, GUID: "p"}) },
			Perform: func(*recipetest.Actor, machine.Effect) {},
		})
		i := produce.Item{Ephemeral: ephemeral}
		a.Tell(produce.Put{No: 1, GUID: guid(1), Items: []produce.Item{i, i, i}})
		require.True(t, w.Settle(1000))
		require.Len(t, w.Children(queue.Bucket(place.Bucket{})), map[bool]int{false: 1, true: 3}[ephemeral])
	}
}

// Single items that wait together lie in znodes of which each consumer that lives can have one, in
// their order, if their GUIDs count on. One that has something of its own lies alone, and one that
// is refused fails alone.
func TestNeighboursShareZnodes(t *testing.T) {
	t.Parallel()
	lie := func(consumers int, change func(n int, i *produce.Item)) (heads []string) {
		w := recipetest.NewWorld(func(int) int { return 0 })
		m := make(births, consumers)
		for n := range m {
			m[n] = queue.Alive(fmt.Sprint(n))
		}
		w.Add(recipetest.Player{Name: "consumers", Machine: func() machine.Machine { return m }})
		for w.Step() {
		}
		guids := make(map[uint64]string)
		a := w.Add(recipetest.Player{
			Name:    "p",
			Machine: func() machine.Machine { return produce.New(produce.Config{Root: queue, GUID: "p"}) },
			Perform: func(_ *recipetest.Actor, e machine.Effect) {
				if s, ok := e.(produce.Settled); ok && s.Err == nil {
					guids[s.No] = s.GUIDs[0]
				}
			},
		})
		for n := 1; n <= 20; n++ {
			i := produce.Item{Data: []byte("x")}
			change(n, &i)
			a.Tell(produce.Put{No: uint64(n), GUID: place.Member(guid(1), n), Items: []produce.Item{i}})
		}
		poisoned := func(e machine.Effect) bool {
			tr, ok := e.(machine.Transact)
			return ok && slices.ContainsFunc(tr.Ops, func(op machine.Op) bool { return bytes.Contains(op.Data, []byte("poison")) })
		}
		for a.Refuse(poisoned) || w.Step() {
		}
		for n, g := range guids {
			require.Equal(t, place.Member(guid(1), int(n)), g)
		}
		for _, name := range w.Children(queue.Bucket(place.Bucket{})) {
			heads = append(heads, name[32:len(name)-11])
		}
		return heads
	}
	as := func(int, *produce.Item) {}
	require.Equal(t, []string{"0001-16", "0011-4"}, lie(0, as))
	require.Equal(t, []string{"0001-7", "0008-7", "000f-6"}, lie(3, as))
	require.Len(t, lie(20, as), 20)
	require.Equal(t, []string{"0001-1", "0002-1", "0003-1", "0004-6", "000a-6", "0010-5"}, lie(3, func(n int, i *produce.Item) {
		if n == 3 {
			i.ID = "red"
		}
	}))
	left := lie(3, func(n int, i *produce.Item) {
		if n == 7 {
			i.Data = []byte("poison")
		}
	})
	require.NotContains(t, left, "0007-1")
	items := 0
	for _, head := range left {
		_, count, _ := strings.Cut(head, "-")
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		items += n
	}
	require.Equal(t, 19, items, "%v", left)
}
