package contend

import "github.com/troupe-go/troupe/machine"

// onDowngradeWanted downgrades the holder to a reader. The reader's znode replaces the writer's in
// one transaction, so that no other writer comes between. The writer's hold has ended before, so
// that no reader holds beside it.
func (c *contenders) onDowngradeWanted(e machine.DowngradeWanted) {
	if !c.m.holds(e.Claim) {
		return
	}
	c.m.state = Downgrading
	c.m.requests.Cancel(request{kind: pausing})
	c.m.requests.Emit(machine.Downgrade{Epoch: c.m.requests.Epoch(), Path: c.m.entry.path, Token: c.m.entry.czxid})
}

// onDowngraded goes on with the reader's znode, under the token of the writer's.
func (c *contenders) onDowngraded(e machine.Downgraded) {
	if c.m.state != Downgrading || e.Path != c.m.entry.path {
		return
	}
	wanted := c.m.possessed()
	switch {
	case e.Gone && wanted:
		c.m.lost()
	case e.Gone:
		c.m.requests.Emit(c.m.entry.whenGone...)
		c.m.enterAnew()
	case e.Err != nil:
		if wanted { // the writer's znode exists, and is not held any more
			c.m.entry.after(machine.Freed{Claim: c.m.entry.of})
			c.m.claims.rotate()
		}
		c.m.leave()
	default:
		c.m.entry.at(e.New)
		c.m.entry.inherited, c.m.entry.unread = true, true
		c.m.entry.revoked, c.m.entry.told = false, false // the writer was asked to release, and did
		if !wanted {
			c.m.leave()
			return
		}
		c.m.watch(c.m.entry.path)
		c.m.grant()
	}
}
