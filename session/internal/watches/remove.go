package watches

// mostRemoved is how many watches are given back at a time: so few that the requests behind them
// hardly wait.
const mostRemoved = 128

// Outcome is the outcome of a removal.
type Outcome int

// The outcomes of a removal.
const (
	Gone        Outcome = iota // also if the answer was lost: a watch goes with the connection, and is not armed on the next
	NotSent                    // the connection was just being made
	Unsupported                // the server can't remove watches
)

// Forget ends what a client depends on by one watch: its reads before this cause no event any more,
// but one that is held back already is still told.
func (t *Table) Forget(c Client, key Key) {
	n := t.entries[key]
	if n == nil {
		return
	}
	if n.arming != nil && n.arming.Client == c {
		n.arming.forgone = true
	}
	for _, r := range n.waiting {
		r.forgone = r.forgone || r.Client == c
	}
	for _, r := range n.subs {
		if r.Client == c {
			r.forgone = true // also when its read, without a watch, has to be sent again
			t.unsubscribe(n, r)
			break
		}
	}
	t.spare(key)
}

// Leave ends all that a client that has left depends on. Watches that its reads under way arm are
// given back when the reads are answered.
func (t *Table) Leave(c Client) {
	delete(t.held, c)
	for r := t.clients[c]; r != nil; r = t.clients[c] {
		t.unsubscribe(t.entries[r.Key], r)
		t.spare(r.Key)
	}
}

// spare gives a watch back if no client depends on it any more.
func (t *Table) spare(key Key) {
	n := t.entries[key]
	if n == nil || n.arming != nil || n.need != needed || len(n.subs) > 0 || t.keeping {
		return
	}
	n.need = due
	t.due = append(t.due, key)
	t.GiveBack()
}

// GiveBack asks the server to remove the watches that are due, one batch at a time. Watches that
// become due meanwhile are in the next.
func (t *Table) GiveBack() {
	if t.removing {
		return
	}
	var batch []Key
	for len(t.due) > 0 && len(batch) < mostRemoved {
		key := t.due[0]
		t.due = t.due[1:]
		if n := t.entries[key]; n != nil && n.need == due { // else a client has asked for it again, or it has fired
			n.need = removing
			batch = append(batch, key)
		}
	}
	if len(batch) == 0 {
		t.due = nil
		return
	}
	t.removing = true
	t.server.Remove(batch)
}

// Removed takes the outcome of a removal. A removal that was not sent is repeated when there is a
// connection: now, if there is one that is newer than the removal, or by [Table.GiveBack].
func (t *Table) Removed(keys []Key, outcome Outcome, newer bool) {
	t.removing = false
	t.keeping = t.keeping || outcome == Unsupported
	unsent := outcome == NotSent
	for _, key := range keys {
		n := t.entries[key]
		waiting := n.waiting
		n.need, n.waiting = needed, nil
		if n.fired || !unsent && !t.keeping { // the watch is gone
			delete(t.entries, key)
		}
		for _, r := range waiting {
			t.Ask(r)
		}
		if unsent && t.entries[key] == n && len(n.subs) == 0 { // it still is not needed
			n.need = due
			t.due = append(t.due, key)
		}
	}
	switch {
	case t.keeping:
		t.due = nil
	case !unsent || newer:
		t.GiveBack()
	}
}
