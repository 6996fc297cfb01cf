package protocol

// denial is what is known of refusals by ZooKeeper of requests that a transaction needs.
type denial struct {
	err      error  // the last refusal, nil if there was none
	times    int    // how many there were
	deferred error  // a refusal that is handled when the decision that is being written has its reply
	cancel   func() // cancels the pause
}

// denied handles a refusal by ZooKeeper of a read or write that a transaction needs, if the
// transaction exists or may exist. No other process would decide it while this coordinator lives.
// So the application learns of the refusal and has nothing more to wait for, and the machine keeps
// trying, with pauses, to find and abort the transaction.
func (t *tx) denied(err error) {
	t.stop()
	t.record, t.known = nil, false
	if t.denial.err == nil {
		t.requests.Emit(Denied{N: t.n, Err: err})
	}
	t.denial.err = err
	if t.c.closing { // the sites will notice that this coordinator is gone, and decide
		t.lose(err)
		return
	}
	t.abortFor("the coordinator was refused what it needs to decide")
	t.denial.times++
	t.pending = pause
	t.denial.cancel = t.requests.retry(t.denial.times, func() {
		t.pending = nothing
		t.advance()
	})
}

// refused handles a refused read. A decision that is being written may still take effect.
func (t *tx) refused(err error) {
	if t.phase == Deciding {
		t.denial.deferred = err
		return
	}
	t.denied(err)
}

// unpause ends the pause.
func (t *tx) unpause() {
	if t.pending == pause {
		t.denial.cancel()
		t.pending = nothing
	}
}

// letGo ends the transaction when the coordinator closes, without waiting until the request is
// permitted.
func (t *tx) letGo() {
	if t.pending == pause {
		t.unpause()
		t.lose(t.denial.err)
	}
}

// lose ends the transaction with an error, before or after it was known to have begun.
func (t *tx) lose(err error) {
	if t.phase == Beginning || t.phase == Recovering {
		t.refuse(err)
		return
	}
	t.fail(err)
}
