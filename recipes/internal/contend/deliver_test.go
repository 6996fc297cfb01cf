package contend_test

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// deliveries lists what could reach the machine next.
func (i *instance) deliveries() []func() {
	var can []func()
	if len(i.notices) > 0 {
		can = append(can, i.deliverNotice)
	}
	for k := range i.answers {
		can = append(can, func() { i.deliverAnswer(k) })
	}
	if len(i.fires) > 0 && i.ripe(i.fires[0]) {
		can = append(can, i.deliverFire)
	}
	if len(i.wishes) > 0 {
		can = append(can, i.deliverWish)
	}
	if len(i.wakes) > 0 {
		can = append(can, i.deliverWake)
	}
	return can
}

func (i *instance) ripe(f fire) bool {
	answered := f.by.told || i.sess == nil || f.ev.Epoch != i.sess.epoch
	return answered && i.heard >= f.notices
}

func (i *instance) deliverNotice() {
	ev := i.notices[0]
	i.notices = i.notices[1:]
	i.heard++
	switch e := ev.(type) {
	case machine.EpochBegan:
		i.fed, i.as = e.Epoch, e.SessionID
		i.step(ev)
	case machine.EpochEnded:
		i.fed, i.wakes = 0, nil
		i.step(ev)
	default:
		i.step(ev)
	}
}

func (i *instance) deliverAnswer(k int) {
	a := i.answers[k]
	i.answers = slices.Delete(i.answers, k, k+1)
	a.to.told = true
	i.step(a.ev)
}

func (i *instance) deliverFire() {
	f := i.fires[0]
	i.fires = i.fires[1:]
	if s := i.sess; s != nil && s.epoch == f.ev.Epoch && !i.w.early {
		delete(s.believed, f.path)
	}
	i.step(f.ev)
}

func (i *instance) deliverWake() {
	k := i.wakes[0]
	i.wakes = i.wakes[1:]
	i.rested = k.since
	i.step(machine.Woke{Ask: k.ask})
}

// deliverWish passes on what concerns the present possession, as a host does.
func (i *instance) deliverWish() {
	f := i.wishes[0]
	i.wishes = i.wishes[1:]
	switch e := f.ev.(type) {
	case machine.Wanted:
		if c := i.claim(e.Claim); c != nil {
			c.since, c.contested = i.w.zxid, i.claims[0] != c
			i.step(e)
		}
	case machine.Withdrawn:
		if c := i.claim(e.Claim); c != nil {
			c.told = true
			e.Lost = i.held != nil && i.held.claim == c && i.held.lost
			i.step(e)
		}
	case machine.DowngradeWanted:
		if i.held == f.hold && !f.hold.claim.withdrawn {
			i.step(e)
		}
	case machine.Released:
		if i.held == f.hold {
			i.freeing++
			i.step(e)
		}
	case machine.HoldEnded:
		if i.held == f.hold {
			i.finish(f.hold)
			i.step(e)
		}
	}
}

// want is a new wish of the application's.
func (i *instance) want(once, try bool) {
	i.last++
	c := &claim{id: i.last, once: once, try: try}
	i.claims = append(i.claims, c)
	i.wishes = append(i.wishes, wish{ev: machine.Wanted{Claim: c.id, Once: once, Try: try}})
}

func (i *instance) withdraw(c *claim) {
	if c.withdrawn {
		return
	}
	c.withdrawn = true
	if h := i.held; h != nil && h.claim == c {
		h.live = false
	}
	i.wishes = append(i.wishes, wish{ev: machine.Withdrawn{Claim: c.id}})
}

// release gives the possession up, if there is one.
func (i *instance) release() bool {
	h := i.held
	if h == nil || !h.live {
		return false
	}
	h.live = false
	i.wishes = append(i.wishes, wish{machine.Released{Claim: h.claim.id}, h})
	return true
}
