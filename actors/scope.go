package actors

// Scope is a position in the tree below which actors are spawned. It is a small value; two are
// equal if they are the same position. The zero value is a stopped scope.
type Scope struct{ at *node }

// Group creates a scope that only owns what is below it: it has no messages and cannot fail.
// ErrStopped if this scope is stopped.
func (sc Scope) Group(name, kind string) (Scope, error) {
	if sc.at == nil {
		return Scope{}, ErrStopped
	}
	n := newNode(sc.at.system, sc.at, name, kind)
	if !sc.at.adopt(n) {
		return Scope{}, ErrStopped
	}
	return Scope{n}, nil
}

// Stop stops everything below, and the actor whose scope this is. It does not wait, and may be
// called again.
func (sc Scope) Stop() {
	if sc.at != nil {
		sc.at.stop()
	}
}

// Done closes when the scope was stopped, and everything below it and the actor whose scope it is
// have ended. For the zero value it is closed.
func (sc Scope) Done() <-chan struct{} {
	if sc.at == nil {
		return nowhere
	}
	return sc.at.done
}

// nowhere is the Done of a zero value.
var nowhere = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
