package consume_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// hand drives one machine by hand: the test answers each of its requests, in any order.
type hand struct {
	t       *testing.T
	machine *consume.Machine
	pending []machine.Effect // requests, in their order
	out     []machine.Effect // all else
}

// newHand is a machine that has its journal.
func newHand(t *testing.T, cfg consume.Config) *hand {
	t.Helper()
	cfg.Root, cfg.Dead, cfg.GUID = root, graves, "me"
	h := &hand{t: t, machine: consume.New(cfg)}
	h.step(machine.EpochBegan{Epoch: 1, Trusted: true})
	h.done("create /q/work/alive/me-1", 0)
	if h.asks("read /q/work/alive/me-1") {
		h.seen("read /q/work/alive/me-1", 0, "")
	}
	return h
}

func (h *hand) step(ev machine.Event) {
	for _, e := range h.machine.Step(ev) {
		switch e := e.(type) {
		case machine.List, machine.Read, machine.Look, machine.Transact, machine.Ensure, machine.Remove, machine.Wake:
			h.pending = append(h.pending, e)
		case machine.Cancel:
			h.pending = slices.DeleteFunc(h.pending, func(p machine.Effect) bool {
				w, timer := p.(machine.Wake)
				return timer && w.Ask == e.Ask
			})
		default:
			h.out = append(h.out, e)
		}
	}
}

// asked is a request in words: "list <path>", "read <path>", "remove <path>", "ensure <path>",
// "wake", or a transaction's operations.
func asked(e machine.Effect) string {
	switch e := e.(type) {
	case machine.List:
		return "list " + e.Path
	case machine.Read:
		return "read " + e.Path
	case machine.Look:
		return "look"
	case machine.Remove:
		return "remove " + e.Path
	case machine.Ensure:
		return "ensure " + e.Path
	case machine.Transact:
		return strings.Join(text(e.Ops), ", ")
	}
	return "wake"
}

func text(ops []machine.Op) (lines []string) {
	for _, op := range ops {
		lines = append(lines, op.String())
	}
	return lines
}

// find is the first pending request that is asked so, or the first transaction with such an
// operation; −1: there is none.
func (h *hand) find(what string) int {
	return slices.IndexFunc(h.pending, func(e machine.Effect) bool {
		_, transaction := e.(machine.Transact)
		return asked(e) == what || transaction && strings.Contains(asked(e), what)
	})
}

func (h *hand) asks(what string) bool { return h.find(what) >= 0 }

// take takes a pending request: it is answered by the test, or never.
func (h *hand) take(what string) machine.Effect {
	h.t.Helper()
	n := h.find(what)
	if n < 0 {
		var all []string
		for _, e := range h.pending {
			all = append(all, asked(e))
		}
		require.Fail(h.t, "nothing is pending like "+what, "%s", strings.Join(all, "\n"))
	}
	e := h.pending[n]
	h.pending = slices.Delete(h.pending, n, n+1)
	return e
}

func (h *hand) listed(what string, version int32, names ...string) {
	h.t.Helper()
	e := h.take(what).(machine.List)
	h.step(machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Names: names, Stat: machine.Stat{Version: version}})
}

func (h *hand) seen(what string, version int32, data string) {
	h.t.Helper()
	e := h.take(what).(machine.Read)
	h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: []byte(data), Stat: machine.Stat{Version: version}})
}

// none answers that there is no such znode.
func (h *hand) none(what string) {
	h.t.Helper()
	e := h.take(what).(machine.Read)
	h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path})
}

// done answers a transaction. version is the journal's then, and paths are those that were made.
func (h *hand) done(what string, version int32, paths ...string) {
	h.t.Helper()
	e := h.take(what).(machine.Transact)
	results := make([]machine.Result, len(e.Ops))
	for i, path := range paths {
		results[i].Path = path
	}
	results[len(results)-1].Stat = machine.Stat{Version: version, Mtime: 1000, Mzxid: 7}
	h.step(machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: -1, Results: results})
}

// failed answers that a transaction was not carried out: because of its nth operation, or as a
// whole.
func (h *hand) failed(what string, n int, code machine.Code) {
	h.t.Helper()
	e := h.take(what).(machine.Transact)
	h.step(machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: n, Code: code, Err: errors.New("failed")})
}

// woke lets a timer go off.
func (h *hand) woke() {
	h.t.Helper()
	h.step(machine.Woke{Ask: h.take("wake").(machine.Wake).Ask})
}

// first answers what makes it the dispatcher, for the nth time.
func (h *hand) first(n int) {
	h.t.Helper()
	name := fmt.Sprintf("me-1-%d-%010d", n, n)
	h.done(fmt.Sprintf("create /q/line/me-1-%d-", n), 0, "/q/line/"+name)
	h.listed("list /q/line", 0, name)
	h.listed("list /q/journal", 0, "me-1")
	h.listed("list /q/work/alive", 0, "me-1")
}

const bucket0 = "/q/work/ready-0-0000000000"

// claims has it become the dispatcher and claim these znodes of the first bucket, which are read.
func (h *hand) claims(znodes ...layout.Znode) {
	h.t.Helper()
	h.first(1)
	h.listed("list /q/work", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("list /q/work/returned", 0)
	h.seen("read /q/cursor", 0, "")
	var names []string
	for _, z := range znodes {
		names = append(names, z.Name())
	}
	h.listed("list "+bucket0, 0, names...)
	h.done("set /q/cursor", 1)
	for _, z := range znodes {
		h.seen("read "+bucket0+"/"+z.Name(), 0, data(z))
	}
}

// told are the effects of one kind that are for the application.
func told[E machine.Effect](h *hand) (all []E) {
	for _, e := range h.out {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// pack is a znode with count items, the nth of the first bucket.
func pack(n int, count int) layout.Znode {
	return layout.Znode{GUID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n), Count: count, Seq: int32(n)}
}

// data are those of a znode.
func data(z layout.Znode) string {
	var all []layout.Record
	for n := range z.Count {
		all = append(all, layout.Record{Body: fmt.Appendf(nil, "%d.%d", z.Seq, n)})
	}
	return string(layout.Pack(all))
}
