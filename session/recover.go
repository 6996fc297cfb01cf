package session

import "github.com/troupe-go/troupe/session/internal/zkconn"

// leftovers are the paths of what this client has in ZooKeeper, as far as they are known: what
// stands, or what is being deleted.
func (t *client) leftovers(leaving bool) []string {
	g := t.session.state.lock()
	defer g.unlock()
	var paths []string
	for _, c := range g.ledger.of(t) {
		if c.path != "" && c.leaving == leaving {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// Recover tells, after the restart of whoever has the client, which of its znodes really exist in
// this epoch: those that stand, and apart those whose deletion is under way, which nobody may take
// over. Creates and transactions that were under way are waited for, so that nothing turns up
// later, but not a transaction that deletes a znode of the client: whoever recovers deletes that,
// or leaves it alone, and then the transaction comes to nothing. Errors: [ErrExpired], [ErrClosed].
func (t *client) Recover(number uint64, done func(standing, leaving []string, err error)) {
	underway := t.underway()
	t.within(number, func(e *epoch) {
		z := &t.session.znodes
		g := z.state.lock()
		leftovers := g.ledger.of(t)
		g.unlock()
		for _, c := range leftovers {
			<-c.settled.C()
		}
		for _, write := range underway {
			<-write.C() // with the epoch at the latest
		}
		if err := z.insist(e, func(c *zkconn.Conn) error { return retried(caughtUp(c, "/")) }); err != nil {
			done(nil, nil, err)
			return
		}
		for _, c := range leftovers {
			if _, err := z.owned(c); err != nil {
				done(nil, nil, err)
				return
			}
		}
		var found [2][]string
		for kind, paths := range [2][]string{t.leftovers(false), t.leftovers(true)} {
			for _, path := range paths {
				exists, err := z.exists(t, e, path)
				if err != nil {
					done(nil, nil, err)
					return
				}
				if exists {
					found[kind] = append(found[kind], path)
				}
			}
		}
		done(found[0], found[1], nil)
	}, func(err error) { done(nil, nil, err) })
}
