package consume

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// mostLosses is how many items are lost to rivals before the buckets are listed again: by then the
// listing is some trips old.
const mostLosses = 4

// search is what the search for items has come to: a listing, then reads, then a claim.
type search struct {
	armedAtStart bool            // when the search began, the bell and consumers/ were watched
	asSecond     bool            // this consumer searches as the second in line, and has left the first a head start: its claim deletes the first's place
	delayed      []layout.Bucket // those in later/ that the listing under way reads
	picked       []layout.Item   // items that are being read
	candidates   []*item         // items that were read, and are to be claimed
	noneFree     bool            // the last search has left nothing free: the next Ack makes a place in line, too
	claim        *txn            // under way, or of unknown outcome until onResolved; nil: none
}

// seeking tells whether a claim, or what precedes one, is under way.
func (m *Machine) seeking() bool {
	return m.search.claim != nil || m.base.busy(listing, reading, mending, joining, leaving)
}

// seek looks for items and claims them, or waits in line if there are none. It takes the first step
// that is due: doc.go has these cases in words, in the same order. The last two conditions act too,
// when it is not yet time to list: asksForListing arms watches, and await a timer.
func (m *Machine) seek() {
	if t := m.settlement; m.seeking() || t != nil && t.joins {
		return
	}
	p, f, room := &m.place, &m.finder, m.holdings.wants()
	fewLosses := f.losses < mostLosses
	switch {
	case p.doubt:
		m.list(true)
	case room == 0:
		m.stopSeeking()
	case !m.base.gate.open: // it keeps its place in line
		m.base.relist = m.base.relist || len(m.search.candidates)+len(f.free)+f.losses > 0 || f.unended // nothing rings again for these
		m.dropFound()
	case len(m.search.candidates) > 0 && fewLosses:
		m.claim(room)
	case len(f.free) > 0 && fewLosses: // against rivals several are read in one trip, to be tried in turn
		m.read(min(max(room, f.window), readTogether))
	case f.unended:
		m.list(false)
	case f.losses > 0, m.base.relist, p.path == "" && !m.search.noneFree:
		m.list(true)
	case p.path == "", m.base.yields && p.listens():
		m.base.yields = false
		p.take()
	case p.asksForListing():
		m.list(true)
	case m.later.await(p.listens(), int64(len(p.ahead))*headStart):
		m.list(true)
	}
}

// stopSeeking forgets what was found, and leaves the line, since no more items are wanted.
func (m *Machine) stopSeeking() {
	m.dropFound()
	m.search.noneFree = m.search.noneFree && !m.base.cfg.Takes // the next call of Take may come when there are other items
	if m.place.path != "" {
		m.base.Requests.Ask(machine.Remove{Path: m.place.path}, key{purpose: leaving})
		m.place.left()
	}
}

// list begins a search, or goes on with one that has not come to the last bucket. The first in line
// sleeps after a search that found nothing only if the bell was armed when the search began. The
// second in line, which has waited in vain for the first, searches asSecond; so does its next
// search, if this one ends with losses to rivals.
func (m *Machine) list(begins bool) {
	if begins {
		hasWaited := m.place.turn == waited
		m.search.asSecond = hasWaited || m.search.asSecond && m.finder.losses > 0
		m.search.armedAtStart = m.place.armed()
		if hasWaited {
			m.place.turn = quiet
		}
		m.finder.begin()
	}
	m.base.relist, m.search.candidates = false, nil
	m.search.delayed = m.later.toList(m.finder.delayed)
	m.base.Requests.Ask(machine.MultiRead{Queries: m.finder.queries(m.search.delayed)}, key{purpose: listing})
}

func (m *Machine) onListed(ev machine.MultiSeen) {
	var names [3][]string // of the places in line, and of the buckets in items/ and in later/: see finder.queries
	for n := range names {
		l, _ := ev.Answers[n].(machine.Listed)
		if !m.base.ok(l.Code, l.Path, l.Err) {
			m.base.relist = true
			return
		}
		names[n] = l.Names
	}
	m.base.tries = 0
	delayed, inBuckets := len(m.search.delayed), ev.Answers[len(names):] // first one answer for each bucket of delayed
	m.finder.name([2][]string(names[1:]))
	m.later.listed(m.finder.delayed, m.search.delayed, inBuckets[:delayed])
	m.place.listed(names[0])
	for _, b := range m.finder.listed(inBuckets[delayed:]) {
		m.base.tidy(machine.Op{Do: machine.Delete, Path: m.base.root.ClaimsOf(b), Version: machine.Any},
			machine.Op{Do: machine.Delete, Path: m.base.root.Bucket(b), Version: 1})
	}
	m.endSearch()
}

// endSearch ends the search if there is nothing left to be listed or tried, so that it has found
// nothing.
func (m *Machine) endSearch() {
	f, p := &m.finder, &m.place
	if len(f.free) > 0 || len(m.search.candidates) > 0 || f.unended || f.losses > 0 {
		return
	}
	m.search.noneFree = true
	if m.search.armedAtStart && p.armed() && p.known && len(p.ahead) == 0 {
		p.turn = quiet
	}
}

func (m *Machine) dropFound() {
	m.finder.drop()
	m.search.candidates = nil
}

// read reads the next free items.
func (m *Machine) read(n int) {
	if m.finder.large {
		n = 1
	}
	if m.search.picked = m.finder.pick(n); len(m.search.picked) == 0 {
		m.endSearch()
		m.seek()
		return
	}
	m.base.Requests.Ask(machine.MultiRead{Queries: m.finder.queriesOf(m.search.picked)}, key{purpose: reading})
}

func (m *Machine) onRead(ev machine.MultiSeen) {
	items, gone := m.finder.opened(m.search.picked, ev.Answers)
	m.finder.losses += gone
	for _, i := range items {
		if m.holdings.exhausted(i.record.Attempts) && m.base.avoided[string(m.base.cfg.Dead)] {
			m.base.avoided[i.at.Path(m.base.root)], m.base.relist = true, true // only a new listing shows enough of the items behind it
		} else {
			m.search.candidates = append(m.search.candidates, i)
		}
	}
	m.endSearch()
}

// claim claims items that were read, in one transaction. An item that a rival has claimed since the
// read has another version. If the rival's claim was there before the read, the claim's znode
// exists.
func (m *Machine) claim(room int) {
	t, p := &txn{}, &m.place
	for _, i := range m.search.candidates[:min(room, len(m.search.candidates))] {
		if !t.fits(i) {
			break
		}
		t.items = append(t.items, i)
		m.claimItem(t, i)
	}
	leaves := p.path != ""
	if m.search.asSecond && len(p.ahead) == 1 { // the first hangs, or it is slow and then joins again
		op := machine.Op{Do: machine.Delete, Path: p.ahead[0], Version: machine.Any}
		t.add(op, part{failed: func(machine.Code) { m.search.asSecond = false }})
	}
	if leaves {
		t.add(machine.Op{Do: machine.Delete, Path: p.path, Version: machine.Any}, part{failed: func(machine.Code) { p.left() }})
	}
	// Without the znode in consumers/, no other consumer would hear that these claims have ended.
	self := machine.Op{Do: machine.Check, Path: m.base.root.Consumer(m.base.cfg.GUID), Version: machine.Any}
	t.add(self, part{failed: func(machine.Code) { m.base.registered = false }})
	open := machine.Op{Do: machine.Check, Path: m.base.root.Claims(), Version: m.base.gate.version}
	t.add(open, part{failed: func(machine.Code) { m.base.gate = gate{} }})
	t.done = func([]machine.Result) {
		if leaves {
			p.left()
		}
		m.claimed(t.items)
	}
	t.unknown = func() {
		m.search.claim = t
		m.resolve()
	}
	t.refused = func(i *item, _ error) { m.uncandidate(i) }
	m.send(t, claiming, &m.search.claim)
}

func (m *Machine) claimItem(t *txn, i *item) {
	rival := func(machine.Code) {
		m.finder.lost()
		m.uncandidate(i)
	}
	data := layout.WithAttempts(i.data, i.record.Attempts+1)
	t.add(machine.Op{Do: machine.Set, Path: i.at.Path(m.base.root), Data: data, Version: i.version}, part{
		item: i, failed: rival,
		done: func(r machine.Result) { i.token = r.Stat.Mzxid }, // and its claim's Czxid: it is the same transaction
	})
	claim := machine.Op{Do: machine.Create, Path: m.base.root.Claim(i.at.Bucket, i.at.Seq), Data: []byte(m.base.cfg.GUID), Ephemeral: true}
	t.add(claim, part{
		item: i,
		failed: func(code machine.Code) {
			if code != machine.NoNode {
				rival(code)
				return
			}
			b := i.at.Bucket // the claims' parent was deleted by hand: it is made again, if the bucket exists
			m.base.Requests.Ask(machine.Transact{Ops: []machine.Op{
				{Do: machine.Check, Path: m.base.root.Bucket(b), Version: machine.Any}, {Do: machine.Create, Path: m.base.root.ClaimsOf(b)},
			}}, key{purpose: mending})
		},
		refused: func(err error) {
			m.base.skip(m.base.root.Bucket(i.at.Bucket), err)
			m.dropFound()
			m.base.relist = true
		},
	})
}

// onMended takes in whether that parent was made. If the bucket is gone, the search goes on.
func (m *Machine) onMended(ev machine.Transacted) {
	const creates = 1 // the index of the Create, behind the Check of the bucket
	if ev.Failed == creates && ev.Code != machine.NodeExists || ev.Code == machine.Refused {
		m.base.ok(ev.Code, m.base.root.Claims(), ev.Err)
	}
}

func (m *Machine) claimed(items []*item) {
	for _, i := range items {
		i.record.Attempts++
		i.version++
		i.data = layout.WithAttempts(i.data, i.record.Attempts)
		m.holdings.hold(i)
	}
	m.search.noneFree = len(m.search.candidates) == len(items) && len(m.finder.free) == 0 && !m.finder.unended
	m.search.candidates = nil
	m.finder.won()
}

func (m *Machine) uncandidate(i *item) {
	m.search.candidates = slices.DeleteFunc(m.search.candidates, func(c *item) bool { return c == i })
}
