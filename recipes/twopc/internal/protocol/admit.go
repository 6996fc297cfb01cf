package protocol

import (
	"maps"

	"github.com/troupe-go/troupe/machine"
)

// DefaultLimit is the default limit of entries in an inbox. With the longest ids, its listing has 9
// MB.
const DefaultLimit = 8192

// mostCredit is the maximum number of transactions that a coordinator begins with a site before it
// lists the inbox again.
const mostCredit = 256

// mostInboxes limits the number of inboxes that a coordinator remembers while it has no
// transactions there. A forgotten one costs a read when it is needed again.
const mostInboxes = 1024

// admission keeps the inboxes of the sites within their limit.
//
// ZooKeeper has no transaction that fails by the number of a znode's children. So a coordinator
// reads the number for an inbox, and may then begin half as many transactions as are free, at most
// 256. In the steady state that costs almost nothing. A single coordinator keeps the limit; several
// exceed it by no more than what each was granted.
type admission struct {
	requests  *requests
	root      Root
	limit     int                   // of entries in an inbox
	beginning func(site string) int // how many transactions were admitted and may not be in the site's inbox yet
	quotas    map[string]*quota
}

// quota is what is known about a site's inbox.
type quota struct {
	credit  int               // how many more transactions may begin before the next read
	reading bool              // the inbox is being read
	waiting []func(full bool) // callbacks that wait for the read
}

// admit reports whether every site has room in its inbox. If that is not known, it reads the
// inboxes first, and then calls read, with a site whose inbox is full, or "". After that ask again:
// other transactions may have used the credit.
func (a *admission) admit(sites []string, read func(full string)) bool {
	left, full := 0, ""
	for _, site := range sites {
		if a.quota(site).credit > 0 {
			continue
		}
		left++
		a.measure(site, func(isFull bool) {
			if isFull && full == "" {
				full = site
			}
			if left--; left == 0 {
				read(full)
			}
		})
	}
	if left > 0 {
		return false
	}
	for _, site := range sites {
		a.quota(site).credit--
	}
	return true
}

func (a *admission) quota(site string) *quota {
	q := a.quotas[site]
	if q == nil {
		q = &quota{}
		a.quotas[site] = q
	}
	return q
}

// prune forgets inboxes that are not being read, if there are too many.
func (a *admission) prune() {
	if len(a.quotas) > mostInboxes {
		maps.DeleteFunc(a.quotas, func(_ string, q *quota) bool { return !q.reading })
	}
}

// reset forgets the reads of the epoch.
func (a *admission) reset() {
	for _, q := range a.quotas {
		q.reading, q.waiting = false, nil
	}
}

// measure reads an inbox, and grants half of what is free, at least one. If the read is refused,
// the transaction is not refused: the write tells whether it is permitted.
func (a *admission) measure(site string, found func(full bool)) {
	q := a.quota(site)
	q.waiting = append(q.waiting, found)
	if q.reading {
		return
	}
	q.reading = true
	a.requests.read(a.root.Inbox(site), func(ev machine.Seen) {
		free := a.limit - int(ev.Stat.Children) - a.beginning(site)
		q.credit, q.reading = max(0, min((free+1)/2, mostCredit)), false
		waiting := q.waiting
		q.waiting = nil
		for _, f := range waiting {
			f(free <= 0)
		}
	})
}
