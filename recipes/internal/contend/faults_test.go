package contend_test

// What happens to an instance in a schedule: epochs, trust and the connection begin and end, its
// actor crashes, what is on its way to its machine is delivered, its application wants something.

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// begin opens a new epoch of all that share the session.
func (i *instance) begin() {
	i.sim.ids++
	trusted := i.sim.calm || i.sim.Pick(4) > 0
	for _, i := range i.sharers.all {
		i.epochs++
		s := &session{sim: i.sim, of: i, id: i.sim.ids, epoch: i.epochs, trusted: trusted, believed: map[string]bool{}}
		i.sim.sessions = append(i.sim.sessions, s)
		i.sess = s
		i.say(machine.EpochBegan{Epoch: s.epoch, SessionID: s.id, Trusted: s.trusted})
	}
}

// end is the end of the epoch as the client sees it. Possessions end first; the server may come to
// it later.
func (i *instance) end() {
	unheard := i.sim.oneIn(3) // the machine is told of the next one alone
	for _, i := range i.sharers.all {
		s := i.sess
		if h := i.held; h != nil {
			h.live = false
		}
		s.ended = true
		i.sess = nil
		if !unheard {
			i.say(machine.EpochEnded{Epoch: s.epoch})
		}
	}
}

func (i *instance) distrust() {
	for _, i := range i.sharers.all {
		i.sess.trusted = false
		i.endHold()
		i.say(machine.TrustEnded{Epoch: i.sess.epoch})
	}
}

func (i *instance) trust() {
	for _, i := range i.sharers.all {
		i.sess.trusted = true
		i.say(machine.TrustGained{Epoch: i.sess.epoch})
	}
}

func (i *instance) suspend() {
	for _, i := range i.sharers.all {
		i.sess.suspended = true
		i.say(machine.Suspended{Epoch: i.sess.epoch})
	}
}

func (i *instance) resume() {
	for _, i := range i.sharers.all {
		i.say(machine.Resumed{Epoch: i.sess.epoch})
		i.sess.resume()
	}
}

// crash loses the machine and all that was on its way to it. The next incarnation begins when
// nothing of it is left, and is told what is wanted.
func (i *instance) crash() {
	i.sim.Log("#%d crashes", i.id)
	if h := i.held; h != nil {
		i.lost[h.token] = i.lost[h.token] || h.live
		i.finish(h)
	}
	s := i.sess
	if s != nil && s.suspended {
		i.resume() // a recovery needs the connection
	}
	i.notices, i.heard = nil, i.said
	if s != nil {
		i.settleRequests(s)
	}
	i.answers, i.wakes, i.freeing = nil, nil, 0
	for k := range i.fires {
		i.fires[k].by.told = true
	}
	i.m = i.machine()
	i.shown, i.fed = machine.Standing{}, 0
	i.wishes = slices.DeleteFunc(i.wishes, func(f demand) bool {
		_, wanted := f.ev.(machine.Wanted)
		return wanted || f.hold != nil
	})
	for _, c := range slices.Clone(i.claims) {
		if c.withdrawn {
			i.dropClaim(c)
		}
	}
	if s != nil {
		i.recover(s)
	}
	for _, c := range slices.Clone(i.claims) {
		c.since, c.contested = i.sim.zxid, i.claims[0] != c
		i.step(machine.Wanted{Claim: c.id, Once: c.once, Try: c.try})
	}
}

// settleRequests: requests under way are carried out, or never, before the next incarnation begins.
// Those of the record may be carried out behind its back.
func (i *instance) settleRequests(s *session) {
	for _, r := range slices.Clone(s.requests) {
		_, released := r.effect.(machine.Release)
		_, recorded := r.effect.(machine.Record)
		switch {
		case s.dead:
		case i.sim.Pick(2) == 0:
			s.run(r)
		case released || recorded:
			r.orphan = true
		default:
			s.requests = slices.DeleteFunc(s.requests, func(o *request) bool { return o == r })
			s.disbelieve(r)
		}
	}
	for k := range i.answers {
		i.answers[k].to.told = true
	}
}

// recover deletes what the crashed incarnation has left, as package recipe does it, and begins.
func (i *instance) recover(s *session) {
	for _, n := range slices.Clone(i.sim.nodes) {
		if n.owner == s.id && (n.by == i || i.sim.rule == single) {
			i.tellReleased(n.path)
			i.sim.remove(n, false)
		}
	}
	for _, n := range i.sim.deaths {
		if n.by == i {
			i.sim.strike(n.path)
		}
	}
	i.fed, i.as = s.epoch, s.id
	i.step(machine.EpochBegan{Epoch: s.epoch, SessionID: s.id, Trusted: s.trusted})
}

// disbelieve forgets the watch that a request was to arm.
func (s *session) disbelieve(r *request) {
	if !r.watch {
		return
	}
	switch e := r.effect.(type) {
	case machine.Read:
		delete(s.believed, e.Path)
	case machine.List:
		delete(s.believed, children)
	}
}

// say sends a notice of the session.
func (i *instance) say(ev machine.Event) {
	i.notices = append(i.notices, ev)
	i.said++
}

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
	if len(i.news) > 0 {
		can = append(can, i.deliverNews)
	}
	if len(i.wishes) > 0 {
		can = append(can, i.deliverWish)
	}
	if len(i.wakes) > 0 && !i.sim.brief {
		can = append(can, i.deliverWake)
	}
	return can
}

// ripe tells whether the event of a watch may be delivered: see fire.
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
		i.fed, i.as, i.wakes = e.Epoch, e.SessionID, nil
	case machine.EpochEnded:
		i.fed, i.wakes = 0, nil
	}
	i.step(ev)
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
	if s := i.sess; s != nil && s.epoch == f.ev.Epoch && !i.sim.early {
		delete(s.believed, f.path)
	}
	if f.ev.Change == machine.Deleted {
		i.sim.strike(f.path)
	}
	i.step(f.ev)
}

func (i *instance) deliverWake() {
	k := i.wakes[0]
	i.wakes = i.wakes[1:]
	i.restedSince = k.since
	i.step(machine.Woke{Ask: k.ask})
}

// deliverWish passes on what concerns the present possession, as a host does.
func (i *instance) deliverWish() {
	f := i.wishes[0]
	i.wishes = i.wishes[1:]
	switch e := f.ev.(type) {
	case machine.Wanted:
		if c := i.claim(e.Claim); c != nil {
			c.since, c.contested = i.sim.zxid, i.claims[0] != c
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

// demandKind is what the application asks for.
type demandKind int

const (
	standing demandKind = iota // to hold again and again
	call                       // to hold once
	try                        // to hold once, if no other contender is ahead
)

// want adds a claim of the application.
func (i *instance) want(w demandKind) {
	i.last++
	c := &claim{id: i.last, once: w != standing, try: w == try}
	i.claims = append(i.claims, c)
	i.wishes = append(i.wishes, demand{ev: machine.Wanted{Claim: c.id, Once: c.once, Try: c.try}})
}

func (i *instance) withdraw(c *claim) {
	if c.withdrawn {
		return
	}
	c.withdrawn = true
	if h := i.held; h != nil && h.claim == c {
		h.live = false
	}
	i.wishes = append(i.wishes, demand{ev: machine.Withdrawn{Claim: c.id}})
}

// release gives the possession up, if there is one.
func (i *instance) release() bool {
	h := i.held
	if h == nil || !h.live {
		return false
	}
	h.live = false
	i.wishes = append(i.wishes, demand{machine.Released{Claim: h.claim.id}, h})
	return true
}
