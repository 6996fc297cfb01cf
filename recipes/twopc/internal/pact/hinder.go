package pact

// hinder handles a refusal by ZooKeeper of a read or write that a transaction needs, if the
// transaction exists or may exist. No other process would decide it while this coordinator lives.
// So the application learns of the refusal and has nothing more to wait for, and the machine keeps
// trying, with pauses, to find and abort the transaction.
func (t *tx) hinder(err error) {
	if t.c.closing { // the sites will notice that this coordinator is gone, and decide
		t.lose(err)
		return
	}
	t.unfollow()
	t.record, t.known = nil, false
	if t.hindered == nil {
		t.c.desk.do(Hindered{N: t.n, Err: err})
	}
	t.hindered = err
	if t.cause == nil || t.cause.dead != "" {
		t.cause = &cause{reason: "the coordinator was refused what it needs to decide"}
	}
	t.refusals++
	t.busy = true
	t.pausing = t.c.desk.retry(t.refusals, func() {
		t.pausing, t.busy = nil, false
		t.advance()
	})
}

// refused handles a refused read. A decision that is being written may still take effect.
func (t *tx) refused(err error) {
	if t.phase == Deciding {
		t.refusal = err
		return
	}
	t.hinder(err)
}

// rouse ends the pause.
func (t *tx) rouse() {
	if t.pausing != nil {
		t.pausing()
		t.pausing, t.busy = nil, false
	}
}

// letGo ends the transaction when the coordinator closes, without waiting until the operation is
// permitted.
func (t *tx) letGo() {
	if t.pausing != nil {
		t.rouse()
		t.lose(t.hindered)
	}
}
