package consume

import (
	"cmp"

	"github.com/troupe-go/troupe/machine"
)

// txn is a transaction, and what follows from its answer.
type txn struct {
	purpose purpose // claiming or settling
	ops     []machine.Op
	parts   []part // for each of ops
	items   []*item
	size    int
	joins   bool                     // a place in line is made
	done    func([]machine.Result)   // the transaction was carried out
	unknown func()                   // the answer was lost
	refused func(i *item, err error) // ZooKeeper refuses this for an item
}

// part is what follows from the result of an operation.
type part struct {
	item    *item // the item of the operation; nil: none, or several
	done    func(machine.Result)
	failed  func(machine.Code) // nothing was done since a znode exists or does not, or has another version
	refused func(err error)    // nothing was done for another reason, such as a right or a quota; nil: refused of the transaction
}

// mostItems and mostBytes bound a transaction, but for its first item. So a consumer with a large
// prefetch holds up neither the servers nor its own other requests.
const mostItems, mostBytes = 50, 256 << 10

func (t *txn) add(op machine.Op, p part) {
	t.ops, t.parts = append(t.ops, op), append(t.parts, p)
	t.size += len(op.Data) + len(op.Path)
}

func (t *txn) fits(i *item) bool {
	return len(t.items) == 0 || len(t.items) < mostItems && t.size+len(i.data) < mostBytes
}

func (m *Machine) send(t *txn, p purpose, under **txn) {
	*under, t.purpose = t, p
	m.base.Requests.Ask(machine.Transact{Ops: t.ops}, key{purpose: p})
}

func (m *Machine) onTransacted(under **txn, ev machine.Transacted) {
	t := *under // the claim or the settlement
	*under = nil
	if ev.Code == machine.Unknown {
		t.unknown()
		return
	}
	if ev.Code == machine.Done {
		for n, r := range ev.Results {
			if r.Stat.Mtime > 0 { // the operation was a Set
				m.later.saw(r.Stat.Mtime)
			}
			if done := t.parts[n].done; done != nil {
				done(r)
			}
		}
		t.done(ev.Results)
		return
	}
	var culprit part // stays empty if the answer does not say which operation failed
	if ev.Failed >= 0 && ev.Failed < len(t.parts) {
		culprit = t.parts[ev.Failed]
	}
	// NotEmpty: the item has got a child by hand. To try again is of no use.
	switch refused := ev.Code == machine.Refused || ev.Code == machine.NotEmpty && culprit.item != nil; {
	case refused && culprit.refused != nil:
		culprit.refused(ev.Err)
	case refused:
		m.refuse(t, culprit.item, ev.Err)
	case culprit.failed != nil:
		culprit.failed(ev.Code)
	default: // a parent or the bell was deleted by hand
		m.base.prepare()
	}
	m.endSearch()
}

// refuse takes in that ZooKeeper refuses an operation on an item. If the answer does not say which
// of several items it was, each is settled alone.
func (m *Machine) refuse(t *txn, which *item, err error) {
	for _, i := range t.items {
		if which != nil && which != i {
			continue
		}
		i.alone = true
		switch {
		case which != i && len(t.items) > 1 && t.purpose == settling: // perhaps it was another one
		case len(i.failure) > 0: // perhaps the text makes it too large: the next try is without
			i.failure = []byte{}
		default:
			m.base.skip(i.at.Path(m.base.root), err)
			t.refused(i, err)
		}
	}
}

// resolve finds out whether a claim was carried out whose answer was lost.
func (m *Machine) resolve() {
	var queries []machine.Query
	for _, i := range m.search.claim.items {
		queries = append(queries, machine.Query{Path: m.base.root.Claim(i.at.Bucket, i.at.Seq)}, machine.Query{Path: i.at.Path(m.base.root)})
	}
	m.base.once(machine.MultiRead{Queries: queries}, key{purpose: resolving})
}

// onResolved takes in the claims and the items: an item is claimed if its claim is this consumer's,
// and its version is the next one.
func (m *Machine) onResolved(ev machine.MultiSeen) {
	t := m.search.claim
	var mine []*item
	for n, i := range t.items {
		claim, _ := ev.Answers[2*n].(machine.Seen)
		seen, _ := ev.Answers[2*n+1].(machine.Seen)
		if claim.Code != machine.Done || seen.Code != machine.Done {
			m.base.refused(seen.Path, cmp.Or(claim.Err, seen.Err))
			return // resolve is called again behind the pause
		}
		if string(claim.Data) == m.base.cfg.GUID && seen.Exists && seen.Stat.Version == i.version+1 {
			i.token = claim.Stat.Czxid
			mine = append(mine, i)
		}
	}
	m.search.claim = nil
	if t.items = mine; len(mine) > 0 {
		t.done(nil)
	} else {
		m.dropFound()
		m.base.relist = true
	}
}
