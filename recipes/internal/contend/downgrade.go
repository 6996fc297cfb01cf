package contend

import "github.com/troupe-go/troupe/machine"

// onDowngradeWanted downgrades the holder to a reader. The reader's znode replaces the writer's in
// one transaction, so that no other writer comes between. The writer's hold has ended before, so
// that no reader holds beside it.
func (c *contenders) onDowngradeWanted(e machine.DowngradeWanted) {
	if !c.holds(e.Claim) {
		return
	}
	c.state = Downgrading
	c.requests.Cancel(request{kind: pausing})
	c.requests.Emit(machine.Downgrade{Epoch: c.requests.Epoch(), Path: c.entry.path, Token: c.entry.czxid})
}

// onDowngraded goes on with the reader's znode, under the token of the writer's.
func (c *contenders) onDowngraded(e machine.Downgraded) {
	if c.state != Downgrading || e.Path != c.entry.path {
		return
	}
	wanted := c.possessed()
	switch {
	case e.Gone && wanted:
		c.lost()
	case e.Gone:
		c.requests.Emit(c.entry.whenGone...)
		c.enterAnew()
	case e.Err != nil:
		if wanted { // the writer's znode exists, and is not held any more
			c.entry.after(machine.Freed{Claim: c.entry.of})
			c.claims.rotate()
		}
		c.leave()
	default:
		c.entry.at(e.New)
		c.entry.inherited, c.entry.unread = true, true
		c.entry.revoked, c.entry.told = false, false // the writer was asked to release, and did
		if !wanted {
			c.leave()
			return
		}
		c.watch(c.entry.path)
		c.grant()
	}
}
