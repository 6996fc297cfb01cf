package protocol

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// arrivals lists the presences of the sites, with one watch, while a site is missing that a
// transaction waits for.
type arrivals struct {
	requests *requests
	root     Root
	sites    *presences
	watching bool // the presences are listed with a watch
	refusals int  // number of refused listings in a row
}

// expect watches for sites to start.
func (a *arrivals) expect() {
	if a.watching || !a.missing() {
		return
	}
	a.watching = true
	again := func() {
		a.watching = false
		a.expect()
	}
	a.requests.listWatch(a.root.Presences(), again, func(ev machine.Listed) {
		switch ev.Code {
		case machine.Done:
			a.refusals = 0
			a.arrived(ev.Names)
		case machine.NoNode:
			a.requests.ensure(func(err error) {
				if err != nil {
					a.later(again)
					return
				}
				again()
			}, a.root.Presences())
		default:
			a.later(again)
		}
	})
}

// later retries after a pause, in the same epoch: the presences may not be listed now.
func (a *arrivals) later(again func()) {
	a.refusals++
	epoch := a.requests.Epoch()
	a.requests.retry(a.refusals, func() {
		if a.requests.Epoch() == epoch {
			again()
		}
	})
}

func (a *arrivals) missing() bool {
	for _, w := range a.sites.all {
		if w.follower != nil && !w.present {
			return true
		}
	}
	return false
}

func (a *arrivals) arrived(names []string) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		if w := a.sites.all[name]; w != nil && !w.present {
			w.look()
		}
	}
}
