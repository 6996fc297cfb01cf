package queue_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// The model is a priority queue with claims. An operation is what a client asked and was answered;
// one whose outcome it never learnt may be carried out at any time after it was asked, or never.
//
//	put      nobody had it: it waits
//	receive  it waits: it is this client's, with a token larger than all before
//	ack      it is this client's, by this token: it is gone for good
//	nack     it is this client's, by this token: it waits
//	loss     if it is this client's, by this token, it waits; otherwise nothing
//	ack?     if it is this client's, by this token, it is gone; otherwise nothing
//	put?     like put
//	drained  it is gone, or was never there
//
// A loss is on its way from the moment at which its client knew of it, for as long as it takes.
const (
	opPut = iota + 1
	opReceive
	opAck
	opNack
	opLoss
	opMaybeAck
	opDrained
)

// act is an operation on an item.
type act struct {
	do       int
	item     string
	priority int
	token    int64 // of all but a put
}

func (a act) String() string {
	names := []string{"?", "put", "receive", "ack", "nack", "loss", "ack?", "drained"}
	return fmt.Sprintf("%s %s %d", names[a.do], a.item, a.token)
}

// What an item is.
const (
	absent = iota
	waiting
	held
	gone
)

// entry is an item of the model.
type entry struct {
	item     string
	is       int
	priority int
	order    int   // of its put, among all
	seen     bool  // it has been received before
	token    int64 // the last one
}

// queueModel is the model. If ordered, items of one priority are received for the first time in the
// order in which they were put; if strict, too, no item is received while a more urgent one waits
// that nobody has received before. Without order each item is a history of its own, and with order
// alone each priority, which is quicker to judge.
func queueModel(ordered, strict bool) porcupine.Model {
	m := porcupine.Model{
		Init: func() any { return []entry(nil) },
		Step: func(state, in, _ any) (bool, any) {
			return step(state.([]entry), in.(act), ordered, strict)
		},
		Equal:             func(a, b any) bool { return slices.Equal(a.([]entry), b.([]entry)) },
		DescribeOperation: func(in, _ any) string { return in.(act).String() },
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
	if !strict {
		m.Partition = func(all []porcupine.Operation) [][]porcupine.Operation {
			parts := make(map[string][]porcupine.Operation)
			for _, op := range all {
				part := op.Input.(act).item
				if ordered {
					part = fmt.Sprint(op.Input.(act).priority)
				}
				parts[part] = append(parts[part], op)
			}
			var list [][]porcupine.Operation
			for _, part := range parts {
				list = append(list, part)
			}
			return list
		}
	}
	return m
}

// step is the model's step. The items are sorted by their names, so that equal states are equal.
func step(all []entry, a act, ordered, strict bool) (ok bool, next []entry) {
	at, found := slices.BinarySearchFunc(all, a.item, func(e entry, item string) int { return cmp.Compare(e.item, item) })
	if a.do == opPut {
		if found {
			return false, all
		}
		return true, slices.Insert(slices.Clone(all), at, entry{item: a.item, is: waiting, priority: a.priority, order: len(all)})
	}
	if !found {
		return a.do == opDrained, all
	}
	e := all[at]
	mine := e.is == held && e.token == a.token
	switch a.do {
	case opReceive:
		if e.is != waiting || a.token <= e.token || ordered && !e.seen && slices.ContainsFunc(all, func(f entry) bool { return f.before(e, strict) }) {
			return false, all
		}
		e.is, e.token, e.seen = held, a.token, true
	case opAck, opNack:
		if !mine {
			return false, all
		}
		e.is = map[int]int{opAck: gone, opNack: waiting}[a.do]
	case opLoss, opMaybeAck:
		if !mine {
			return true, all
		}
		e.is = map[int]int{opMaybeAck: gone, opLoss: waiting}[a.do]
	case opDrained:
		return e.is == gone, all
	}
	next = slices.Clone(all)
	next[at] = e
	return true, next
}

// before tells whether an item has to be received before another that nobody has received yet.
func (e entry) before(f entry, strict bool) bool {
	if e.is != waiting || e.seen {
		return false
	}
	return e.priority == f.priority && e.order < f.order || strict && e.priority < f.priority
}

// recorder writes a history down.
type recorder struct {
	mu    sync.Mutex
	began time.Time
	all   []porcupine.Operation
}

func newRecorder() *recorder { return &recorder{began: time.Now()} }

// now is the time by the history's clock.
func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

// did notes an operation that was asked at a time and is answered now.
func (r *recorder) did(client int, a act, from int64) { r.note(client, a, from, r.now()) }

// may notes one of which nobody knows whether and when it is carried out.
func (r *recorder) may(client int, a act, from int64) { r.note(client, a, from, math.MaxInt64) }

func (r *recorder) note(client int, a act, from, until int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, porcupine.Operation{ClientId: client, Input: a, Call: from, Return: until})
}

// drained notes that the queue is empty and nobody has anything.
func (r *recorder) drained() {
	r.mu.Lock()
	items := make(map[string]int)
	for _, op := range r.all {
		a := op.Input.(act)
		items[a.item] = a.priority
	}
	r.mu.Unlock()
	for item, priority := range items {
		r.did(0, act{do: opDrained, item: item, priority: priority}, r.now())
	}
}

// check holds the history against the model. It takes time, which has to be real: in a bubble the
// checker could not be stopped.
func (r *recorder) check(t testing.TB, m porcupine.Model) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, porcupine.Ok, judge(m, r.all), "%s", tell(r.all))
}

// String is the history so far.
func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return tell(r.all)
}

// judge is the checker's word, or Unknown after twenty seconds.
func judge(m porcupine.Model, all []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(m, all, 20*time.Second)
}

// tell is a history to read.
func tell(all []porcupine.Operation) string {
	var text string
	for _, op := range slices.SortedFunc(slices.Values(all), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) }) {
		text += fmt.Sprintf("%12v … %-22v client %d: %v\n", time.Duration(op.Call), time.Duration(op.Return), op.ClientId, op.Input)
	}
	return text
}

// Each thing that must not be is found by the model in a history written by hand, and what is
// right, or may be, is not.
func TestTheModelFindsWhatMustNotBe(t *testing.T) {
	t.Parallel()
	const never = math.MaxInt64
	op := func(do int, item string, token, from, until int64, priority ...int) porcupine.Operation {
		a := act{do: do, item: item, token: token}
		if len(priority) > 0 {
			a.priority = priority[0]
		}
		return porcupine.Operation{Input: a, Call: from, Return: until}
	}
	a := op(opPut, "a", 0, 1, 2)
	for name, c := range map[string]struct {
		history []porcupine.Operation
		strict  bool
		bad     bool // found item by item, too, unless ordered
		ordered bool // found only with the order
	}{
		"a life":                       {history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opAck, "a", 5, 5, 6), op(opDrained, "a", 0, 7, 8)}},
		"given back, and again":        {history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opNack, "a", 5, 5, 6), op(opReceive, "a", 6, 7, 8), op(opAck, "a", 6, 9, 10), op(opDrained, "a", 0, 11, 12)}},
		"lost, and again":              {history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opLoss, "a", 5, 5, never), op(opReceive, "a", 6, 7, 8), op(opAck, "a", 6, 9, 10)}},
		"received while it is put":     {history: []porcupine.Operation{op(opPut, "a", 0, 1, 9), op(opReceive, "a", 5, 3, 4), op(opAck, "a", 5, 5, 6), op(opDrained, "a", 0, 10, 11)}},
		"an unknown put that was done": {history: []porcupine.Operation{op(opPut, "a", 0, 1, never), op(opReceive, "a", 5, 3, 4), op(opAck, "a", 5, 5, 6), op(opDrained, "a", 0, 10, 11)}},
		"an unknown put that was not":  {history: []porcupine.Operation{op(opPut, "a", 0, 1, never), op(opDrained, "a", 0, 10, 11)}},
		"an unknown ack that was done": {history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opMaybeAck, "a", 5, 5, never), op(opLoss, "a", 5, 6, never), op(opDrained, "a", 0, 10, 11)}},
		"an unknown ack that was not": {history: []porcupine.Operation{
			a, op(opReceive, "a", 5, 3, 4), op(opMaybeAck, "a", 5, 5, never), op(opLoss, "a", 5, 6, never), op(opReceive, "a", 6, 7, 8), op(opAck, "a", 6, 9, 10), op(opDrained, "a", 0, 11, 12),
		}},

		"a lost item":                             {bad: true, history: []porcupine.Operation{a, op(opDrained, "a", 0, 7, 8)}},
		"a lost item, after it was given back":    {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opNack, "a", 5, 5, 6), op(opDrained, "a", 0, 7, 8)}},
		"a lost item, with its consumer":          {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opLoss, "a", 5, 5, never), op(opDrained, "a", 0, 7, 8)}},
		"delivered after a confirmed ack":         {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opAck, "a", 5, 5, 6), op(opReceive, "a", 6, 7, 8)}},
		"an ack that met the loss, and nil":       {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opLoss, "a", 5, 5, never), op(opAck, "a", 5, 5, 6), op(opReceive, "a", 6, 7, 8)}},
		"acked twice, by the same":                {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opAck, "a", 5, 5, 6), op(opAck, "a", 5, 7, 8)}},
		"acked twice, by two":                     {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opLoss, "a", 5, 5, never), op(opReceive, "a", 6, 6, 7), op(opAck, "a", 6, 8, 9), op(opAck, "a", 5, 8, 9)}},
		"acked after the other had it":            {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opLoss, "a", 5, 5, never), op(opReceive, "a", 6, 6, 7), op(opAck, "a", 5, 8, 9)}},
		"had by two":                              {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opReceive, "a", 6, 5, 6), op(opAck, "a", 6, 7, 8)}},
		"an old token":                            {bad: true, history: []porcupine.Operation{a, op(opReceive, "a", 5, 3, 4), op(opNack, "a", 5, 5, 6), op(opReceive, "a", 4, 7, 8)}},
		"put twice":                               {bad: true, history: []porcupine.Operation{a, op(opPut, "a", 0, 3, 4)}},
		"nobody put it":                           {bad: true, history: []porcupine.Operation{op(opReceive, "a", 5, 3, 4)}},
		"the later one first":                     {ordered: true, history: []porcupine.Operation{a, op(opPut, "b", 0, 3, 4), op(opReceive, "b", 6, 5, 6), op(opReceive, "a", 7, 7, 8)}},
		"the later one first, of puts in a race":  {history: []porcupine.Operation{a, op(opPut, "b", 0, 1, 4), op(opReceive, "b", 6, 5, 6), op(opReceive, "a", 7, 7, 8)}},
		"the later one first, received in a race": {history: []porcupine.Operation{a, op(opPut, "b", 0, 3, 4), op(opReceive, "b", 6, 5, 8), op(opReceive, "a", 7, 6, 7)}},
		"the later one first, the first comes back": {history: []porcupine.Operation{
			a, op(opPut, "b", 0, 3, 4), op(opReceive, "a", 5, 5, 6), op(opNack, "a", 5, 7, 8), op(opReceive, "b", 6, 9, 10), op(opReceive, "a", 7, 11, 12),
		}},
		"the less urgent one first": {strict: true, ordered: true, history: []porcupine.Operation{a, op(opPut, "b", 0, 3, 4, -1), op(opReceive, "a", 6, 5, 6), op(opReceive, "b", 7, 7, 8)}},
		"the more urgent one first": {strict: true, history: []porcupine.Operation{a, op(opPut, "b", 0, 3, 4, -1), op(opReceive, "b", 6, 5, 6), op(opReceive, "a", 7, 7, 8)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[bool]porcupine.CheckResult{false: porcupine.Ok, true: porcupine.Illegal}
			require.Equal(t, want[c.bad], judge(queueModel(false, false), c.history), "item by item:\n%s", tell(c.history))
			require.Equal(t, want[c.bad || c.ordered], judge(queueModel(true, c.strict), c.history), "with the order:\n%s", tell(c.history))
		})
	}
}
