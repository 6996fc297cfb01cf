package queue

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

// Layout determines the znodes of a queue.
type Layout int

// The layouts. All except Troupe have no buckets: every item is in every listing, so they are
// limited to some thousand items.
const (
	// Troupe is this package's own layout, the default.
	Troupe Layout = iota

	// Java is the layout of ZooKeeper's DistributedQueue ("qn-<number>"): no priorities, at most
	// once.
	Java

	// Kazoo is the layout of kazoo's Queue ("entry-<priority>-<number>"): at most once.
	Kazoo

	// KazooLocking is the layout of kazoo's LockingQueue ("entries/entry-<priority>-<number>",
	// "taken/"), which has claims.
	KazooLocking
)

// foreign is another library's layout.
type foreign struct {
	entries string // where the items lie, below the path
	taken   string // where the claims lie; "" if it has none
	ranked  bool   // it has priorities
	prefix  func(priority int) string
}

const usualKazoo = 100

var layouts = map[Layout]foreign{
	Java:         {prefix: func(int) string { return "qn-" }},
	Kazoo:        {ranked: true, prefix: kazooPrefix},
	KazooLocking: {ranked: true, prefix: kazooPrefix, entries: "entries", taken: "taken"},
}

func kazooPrefix(priority int) string { return fmt.Sprintf("entry-%03d-", priority) }

// check says what can't be put in a layout.
func (l Layout) check(o *putOptions) error {
	if l == Troupe {
		return nil
	}
	f := layouts[l]
	switch {
	case o.named:
		return fmt.Errorf("WithID: %w in this layout", session.ErrUnsupported)
	case o.delay > 0:
		return fmt.Errorf("WithDelay: %w in this layout", session.ErrUnsupported)
	case o.ranked && !f.ranked:
		return fmt.Errorf("WithPriority: %w in this layout", session.ErrUnsupported)
	case o.ranked && (o.priority < 0 || o.priority > 999):
		return fmt.Errorf("WithPriority: %d is not between 0 and 999, the range of this layout", o.priority)
	case !o.ranked && f.ranked:
		o.priority = usualKazoo
	}
	return nil
}

// claims tells whether items can be claimed in it.
func (l Layout) claims() bool { return l == Troupe || layouts[l].taken != "" }

// site is where things lie.
func (l Layout) site(path string) give.Site {
	site := give.Site{Root: place.Root(path)}
	if l != Troupe {
		f := layouts[l]
		site.Flat, site.Prefix, site.Aside = path, f.prefix, path+"-troupe"
		if f.entries != "" {
			site.Flat = znode.Join(path, f.entries)
		}
	}
	return site
}

// taken is where claims lie in another layout.
func (l Layout) taken(path string) string {
	if f := layouts[l]; f.taken != "" {
		return znode.Join(path, f.taken)
	}
	return ""
}

// parse takes the name of an item in another layout apart; false if it is none.
func (l Layout) parse(name string) (place.Item, bool) {
	head, seq, ok := znode.Sequence(name)
	if !ok {
		return place.Item{}, false
	}
	f := layouts[l]
	if !f.ranked {
		return place.Item{Place: place.Place{Seq: seq}}, head == f.prefix(0)
	}
	number, ok := strings.CutPrefix(strings.TrimSuffix(head, "-"), "entry-")
	var i place.Item
	if n, err := fmt.Sscanf(number, "%d", &i.Priority); n != 1 || err != nil || !ok {
		return place.Item{}, false
	}
	i.Seq = seq
	return i, i.Priority >= 0 && head == f.prefix(i.Priority)
}
