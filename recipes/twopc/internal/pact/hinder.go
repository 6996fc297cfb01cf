package pact

// hinder: ZooKeeper refuses to tell, or to write, what a transaction needs that stands, or may.
// Nobody else would decide it while this coordinator lives. So the application hears of it, and has
// nothing more to wait for; and the machine tries on, with pauses, to find it and to abort it.
func (t *tx) hinder(err error) {
	if t.c.closing { // the sites will see that this coordinator is gone, and decide
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

// refused: what is followed may not be read. A decision that is on its way may still stand.
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

// letGo: the coordinator closes, and does not wait until what is refused is allowed.
func (t *tx) letGo() {
	if t.pausing != nil {
		t.rouse()
		t.lose(t.hindered)
	}
}
