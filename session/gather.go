package session

import (
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// joins are those of one parent, in one epoch, that are under way and want a listing. The first
// lists right behind its create. Those that come meanwhile share a listing, which is sent after
// their creates were answered: so it is never older than what they have created.
type joins struct {
	under   int
	current *listing // that was sent last
	next    *listing // that is sent when current is answered; nil: nobody wants one
}

type joinKey struct {
	epoch  *epoch
	parent string
}

type listing struct {
	over   notify.Latch
	answer seam.Listed // set before; everybody's, so nobody may change what is in it
}

// join counts one that is under way; true if it is the only one.
func (z *znodes) join(key joinKey) (alone bool) {
	l := z.state.lock()
	defer l.unlock()
	if l.ledger.joins == nil {
		l.ledger.joins = make(map[joinKey]*joins)
	}
	q := l.ledger.joins[key]
	if q == nil {
		q = &joins{}
		l.ledger.joins[key] = q
	}
	q.under++
	return q.under == 1
}

func (z *znodes) joined(key joinKey) {
	l := z.state.lock()
	defer l.unlock()
	if q := l.ledger.joins[key]; q.under > 1 {
		q.under--
	} else {
		delete(l.ledger.joins, key)
	}
}

// gather returns a listing that was sent after the call. Whoever wants one first sends it, and
// takes it apart for all.
func (z *znodes) gather(key joinKey) seam.Listed {
	l := z.state.lock()
	q := l.ledger.joins[key]
	mine, before := q.next, q.current
	if mine != nil {
		l.unlock()
		<-mine.over.C() // with the epoch at the latest
		return mine.answer
	}
	mine = new(listing)
	a := &mine.answer
	a.Epoch, a.Path, a.Err = key.epoch.number, key.parent, ErrExpired // if it panics, which ends the epoch
	q.next = mine
	l.unlock()
	defer mine.over.Close()
	if before != nil {
		<-before.over.C()
	}
	l = z.state.lock()
	q.current, q.next = mine, nil
	l.unlock()
	a.Err = z.insist(key.epoch, bounded(func(c *zkconn.Conn) (err error) {
		a.Names, a.Stat, err = c.Children(z.space.path(key.parent), false)
		return err
	}))
	a.Line = znode.NewLine(a.Names)
	return *a
}
