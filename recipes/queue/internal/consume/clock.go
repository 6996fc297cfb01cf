package consume

import "github.com/troupe-go/troupe/machine"

// clock is the servers', as the transactions tell it. It stands in between.
type clock struct {
	*wire
	now   int64 // at the last transaction, in milliseconds
	fresh bool  // that was in this step
	asked bool  // a transaction is wanted that tells the time
	alarm int64 // what is due then is waited for; 0: nothing
}

// written takes in when a transaction was.
func (c *clock) written(at int64) { c.now, c.fresh = at, true }

// longest is how long a timer runs at the most, in milliseconds: what is due later is waited for
// again.
const longest = 24 * 60 * 60 * 1000

// await wakes when something is due that is not yet; 0: nothing is. How long that is only a fresh
// clock can tell.
func (c *clock) await(due int64) {
	k := key{purpose: waiting}
	switch {
	case due == 0:
		c.Cancel(k)
		c.alarm = 0
	case c.alarm != 0 && c.alarm <= due: // it is early enough, and asked again then
	case c.fresh:
		c.alarm = due
		c.Cancel(k)
		c.Ask(machine.Wake{After: min(max(due-c.now, 1), longest)}, k)
	default:
		c.asked = true
	}
}
