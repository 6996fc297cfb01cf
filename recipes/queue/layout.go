package queue

import (
	"fmt"

	"github.com/troupe-go/troupe/recipes/queue/internal/plain"
	"github.com/troupe-go/troupe/session"
)

// Layout determines the znodes of a queue.
type Layout int

// The layouts. All except Troupe have no buckets: every item is in every listing, so they are
// limited to some thousand items. Those without claims need WithAutoAck: an item is deleted when it
// is taken. Receipts of puts whose reply was lost lie beside the queue, at its path with "-troupe"
// behind it.
const (
	// Troupe is this package's own layout, the default.
	Troupe Layout = iota

	// Java is the layout of ZooKeeper's DistributedQueue ("qn-<number>"): no priorities, no claims.
	Java

	// Kazoo is the layout of kazoo's Queue ("entry-<priority>-<number>"): no claims.
	Kazoo

	// KazooLocking is the layout of kazoo's LockingQueue ("entries/entry-<priority>-<number>",
	// "taken/"), which has claims.
	KazooLocking

	// Curator is the layout of Curator's DistributedQueue ("queue-<number>"): no priorities, no
	// claims.
	Curator

	// CuratorPriority is the layout of Curator's DistributedPriorityQueue: no claims.
	CuratorPriority

	// CuratorDelay is the layout of Curator's DistributedDelayQueue: no priorities, no claims. A
	// delay ends by the clocks of those who take.
	CuratorDelay
)

// plain is another library's layout.
func (l Layout) plain() plain.Layout {
	return map[Layout]plain.Layout{
		Java: plain.Java, Kazoo: plain.Kazoo, KazooLocking: plain.KazooLocking,
		Curator: plain.Curator, CuratorPriority: plain.CuratorPriority, CuratorDelay: plain.CuratorDelay,
	}[l]
}

// check says what can't be put in a layout.
func (l Layout) check(o *putOptions) error {
	if l == Troupe {
		return nil
	}
	p := l.plain()
	for name, given := range map[string]bool{
		"WithID": o.named, "WithDelay": o.delay > 0 && !p.Delays(), "WithHeader": len(o.headers) > 0, "Under": o.under != nil,
		"WithEphemeral": o.ephemeral,
	} {
		if given {
			return fmt.Errorf("%s: %w in this layout", name, session.ErrUnsupported)
		}
	}
	if !o.ranked {
		o.priority = p.UsualPriority()
		return nil
	}
	return p.ValidPriority(o.priority)
}
