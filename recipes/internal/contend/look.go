package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// look is one look at the contenders.
type look struct {
	ask          uint64          // number of its listing
	early        bool            // the listing went with the create: it may have been answered from before the znode stood
	listed       *machine.Listed // that came before the create's answer
	failed       error           // the listing failed; the own znode is being read to see whether it stands at all
	disconnected bool            // the connection went down since it began

	unordered []contender // whose Czxids are being read
	missed    bool        // one of them was gone by then

	pred string // path of the one to wait for, "" if there is none
	sole bool   // it alone is waited for, and nothing can stand in its place when it is gone

	// A semaphore's.
	own      znode.Contender   // "" for a name until the order is known
	ahead    []znode.Contender // those in front of it
	predSeen bool              // what the one ahead says was read in this look
	watched  bool              // the listing armed a watch on who comes and goes
	stale    bool              // which fired while the listing was under way
}

// list looks at the contenders anew.
func (c *contenders) list() {
	c.state = Listing
	c.look = look{watched: c.own.mark.head}
	c.look.ask = c.ask(machine.List{Path: c.cfg.Parent, Watch: c.look.watched}, listing)
}

func (c *contenders) onListed(e machine.Listed) {
	switch c.state {
	case Entering:
		c.look.listed = &e
	case Listing:
		c.digest(e)
	}
}

// digest makes sense of a listing once the own znode's path is known.
func (c *contenders) digest(e machine.Listed) {
	missing := e.Err == nil && !slices.Contains(e.Names, c.own.name)
	switch {
	case c.look.early && (missing || e.Err != nil):
		c.list() // it may be from before the znode stood, perhaps from before its parent did
	case missing:
		c.lost()
	case c.look.stale:
		c.list()
	case len(c.claims) == 0:
		c.leave() // recovered, and nobody wants it any more
	case e.Err != nil:
		c.verify(e.Err)
	default:
		c.arrange(e.Names)
	}
}

// verify asks whether the own znode stands, because the contenders could not be listed.
func (c *contenders) verify(err error) {
	c.state = Checking
	c.look.failed = err
	c.rewatch(c.own.path)
}

// judge draws the conclusion from the order: those ahead, first to last.
func (c *contenders) judge(own znode.Contender, ahead []znode.Contender) {
	if c.semaphore != nil {
		c.semaphore.judge(own, ahead)
		return
	}
	blockers := c.cfg.Rule.Before(own, ahead)
	c.ahead = len(blockers)
	c.state = Checking
	if len(blockers) > 0 && c.claims[0].try {
		if c.look.ask <= c.claims[0].since {
			c.list() // asked before the try: whoever is in it may be gone since
			return
		}
		if c.refuse(machine.ErrHeld); c.state == Leaving {
			return
		}
	}
	if !c.watches.armed(c.own.path) {
		c.watch(c.own.path)
	}
	if len(blockers) > 0 {
		last := blockers[len(blockers)-1]
		c.look.pred = znode.Join(c.cfg.Parent, last.Name)
		// An event of a watch that was armed before this look might be about a namesake. One that
		// went during this look may have been a writer that goes on as a reader, which the listing
		// did not show.
		c.look.sole = len(blockers) == 1 && !c.look.missed && !c.cfg.Rule.Remains(own, last) && c.watches.of(c.look.pred) == nil
		c.watch(c.look.pred)
	}
	c.advance()
}
