package machinetest

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Znode is one that an instance made.
type Znode struct {
	Path  string
	Token int64
}

// crash loses the machine and what was on its way to it. The next incarnation is told what stands
// and what is wanted, as package recipe does it.
func (i *Instance) crash() {
	i.World.Log("#%d crashes", i.No)
	if h := i.Held; h != nil {
		i.Lost[h.Token] = i.Lost[h.Token] || h.Live
		i.over()
	}
	i.notices, i.answers, i.wakes, i.wishes = nil, nil, nil, nil
	for k := range i.fires {
		i.fires[k].by.told, i.fires[k].heard = true, 0
	}
	for _, by := range i.arms {
		by.told = true
	}
	i.down = false // whoever recovers has to ask, and so waits for the connection
	place := i.sweep()
	i.machine = i.World.subject()
	if i.Session != 0 {
		i.step(machine.EpochBegan{Epoch: i.epoch, SessionID: i.Session, Trusted: i.trusted})
	}
	if place != "" {
		i.step(machine.Recovered{Epoch: i.epoch, Path: place})
	}
	for _, c := range slices.Clone(i.claims) {
		i.step(machine.Wanted{Claim: c.id, Once: c.once, Try: c.try})
		if c.withdrawn && i.claim(c.id) != nil {
			i.step(machine.Withdrawn{Claim: c.id})
		}
	}
}

// sweep settles what the crashed incarnation had under way, and deletes what stands of it, but for
// a znode that is worth taking over: nothing has come of it, and it was not being deleted.
func (i *Instance) sweep() (place string) {
	tree := i.World.Tree
	parting := i.settleRequests()
	wanted := slices.ContainsFunc(i.claims, func(c *claim) bool { return !c.withdrawn })
	for _, z := range tree.Own(i) {
		if place == "" && wanted && !i.spent[z.Token] && !slices.Contains(parting, z.Path) {
			place = z.Path
			continue
		}
		tree.Remove(z.Path)
	}
	return place
}

// settleRequests: what was asked for is carried out or never will be, before the next incarnation
// begins; but a transaction may come behind its back. Those znodes that are being deleted are
// returned.
func (i *Instance) settleRequests() (parting []string) {
	requests := i.requests
	i.requests = nil
	for _, r := range requests {
		r.told, r.orphan = true, true
		late := false
		switch e := r.Effect.(type) {
		case machine.Remove:
			parting = append(parting, e.Path)
		case machine.Release:
			parting, late = append(parting, e.Path), true
		case machine.Record:
			late = true
		}
		switch {
		case r.epoch != i.epoch || i.Session == 0:
		case i.World.Pick(2) == 0:
			i.World.Tree.Serve(i, r)
		case late:
			i.requests = append(i.requests, r)
		}
	}
	return parting
}
