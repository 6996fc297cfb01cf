package consume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// driver drives a machine by driver.
type driver struct {
	t       *testing.T
	m       *consume.Machine
	pending []machine.Effect
	out     []machine.Effect
}

func (h *driver) step(ev machine.Event) {
	h.t.Logf("◀ %T%+v", ev, ev)
	for _, e := range h.m.Step(ev) {
		h.t.Logf("   ▶ %T%+v", e, e)
		switch e.(type) {
		case machine.List, machine.Read, machine.Transact, machine.Ensure, machine.Remove, machine.Wake:
			h.pending = append(h.pending, e)
		default:
			h.out = append(h.out, e)
		}
	}
}

// take takes the first pending request that matches.
func (h *driver) take(what string) machine.Effect {
	for i, e := range h.pending {
		if s := fmt.Sprintf("%T%+v", e, e); strings.Contains(s, what) {
			h.pending = append(h.pending[:i:i], h.pending[i+1:]...)
			return e
		}
	}
	h.t.Fatalf("nothing pending matches %q: %+v", what, h.pending)
	return nil
}

func (h *driver) has(what string) bool {
	for _, e := range h.pending {
		if s := fmt.Sprintf("%T%+v", e, e); strings.Contains(s, what) {
			return true
		}
	}
	return false
}

func (h *driver) listed(what string, version int32, names ...string) {
	e := h.take(what).(machine.List)
	h.step(machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Names: names, Stat: machine.Stat{Version: version}})
}

func (h *driver) seen(what string, version int32, data string) {
	e := h.take(what).(machine.Read)
	h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: []byte(data), Stat: machine.Stat{Version: version}})
}

func (h *driver) done(what string, version int32, paths ...string) {
	e := h.take(what).(machine.Transact)
	r := make([]machine.Result, len(e.Ops))
	for i := range paths {
		r[i].Path = paths[i]
	}
	r[len(r)-1].Stat = machine.Stat{Version: version, Mtime: 1000, Mzxid: 7}
	h.step(machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: -1, Results: r})
}

func (h *driver) failed(what string, n int, code machine.Code) {
	e := h.take(what).(machine.Transact)
	h.step(machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Failed: n, Code: code, Err: fmt.Errorf("%v", code)})
}

func newDriver(t *testing.T, cfg consume.Config) *driver {
	cfg.Root, cfg.GUID = root, "me"
	h := &driver{t: t, m: consume.New(cfg)}
	h.step(machine.EpochBegan{Epoch: 1, Trusted: true})
	h.done("create /q/work/alive/me-1", 0)
	if h.has("machine.Read{Epoch:1 Ask:2 Path:/q/work/alive/me-1 Watch:true}") {
		h.seen("Path:/q/work/alive/me-1", 0, "")
	}
	return h
}

func (h *driver) first(n int) {
	h.done(fmt.Sprintf("create /q/line/me-1-%d-", n), 0, fmt.Sprintf("/q/line/me-1-%d-%010d", n, n))
	h.listed("Path:/q/line Watch", 0, fmt.Sprintf("me-1-%d-%010d", n, n))
	h.alone()
}

// alone: there is no other consumer.
func (h *driver) alone() {
	h.listed("Path:/q/journal Watch", 0, "me-1")
	h.listed("Path:/q/work/alive Watch", 0, "me-1")
}

func znodeName(n int, count int) string {
	return layout.Znode{GUID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n), Count: count, Seq: int32(n)}.Name()
}

func znodeData(count int) string {
	var all []layout.Record
	for n := range count {
		all = append(all, layout.Record{Body: []byte(fmt.Sprint("b", n))})
	}
	return string(layout.Pack(all))
}

func claimOne(h *driver, count int) {
	h.first(1)
	h.listed("/q/work Watch", 0, "ready-0-0000000000", "returned", "alive")
	h.listed("/q/work/returned", 0)
	h.seen("/q/cursor", 0, "")
	var names []string
	for n := range count {
		names = append(names, znodeName(n, 1))
	}
	h.listed("ready-0-0000000000 Watch:true", 0, names...)
	h.done("set /q/cursor", 1)
	for range count {
		e := h.take("Path:/q/work/ready-0-0000000000/").(machine.Read)
		h.step(machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Exists: true, Data: []byte(znodeData(1))})
	}
}
