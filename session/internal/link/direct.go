package link

import (
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// The requests of which a contender's way consists, and which a lock costs each time that it is
// taken, don't go through the library: the line encodes them, numbers them and knows their answers
// anyway. That saves the goroutine that the library hands each request to, and the reflection by
// which it encodes and decodes; and several can be put on the wire together, in a known order.
// Whatever else this package promises of a request holds for them as well.

// ownXids is where the numbers of the line's own requests begin. The library counts from 1 on.
const ownXids int32 = 1 << 30

// converse makes requests without the library, one right behind the other, and returns when the
// last is answered, or none will be any more: what became of each, its outcome tells. With an
// error, none of them was sent.
func (c *Conn) converse(rs ...*request) error {
	alone, sign := false, false
	for _, r := range rs {
		if err := c.fits(r); err != nil {
			return err
		}
		alone, sign = alone || r.alone, sign || r.sign
		if !r.valid() {
			return ErrInvalidPath
		}
		r.answered = notify.NewLatch()
	}
	l, err := c.up()
	if err != nil {
		return err
	}
	if alone || !sign {
		if !l.crowd.enter(alone, l.gone, c.shut) {
			return c.refusal()
		}
		defer l.crowd.leave()
	}
	if err := l.put(rs); err != nil {
		return err
	}
	select {
	case <-rs[len(rs)-1].answered.C():
	case <-l.gone.C():
	}
	return nil
}

// direct is converse with one request.
func (c *Conn) direct(r *request) error {
	if err := c.converse(r); err != nil {
		return err
	}
	return r.outcome()
}

func (r *request) valid() bool {
	for i := range r.ask.Ops {
		if znode.Validate(r.ask.Ops[i].Path) != nil {
			return false
		}
	}
	return r.op == jute.OpMulti || znode.Validate(r.path) == nil
}

func (r *request) outcome() error {
	switch {
	case r.answered.Closed():
	case r.line.gone.Closed():
		return r.unanswered()
	default:
		return ErrNoReply
	}
	return verdict(r.code)
}

// put writes requests of the line's own, or refuses them. If the writing fails, the line is lost,
// and so are the answers.
func (l *line) put(rs []*request) error {
	c := l.conn
	select {
	case l.writing <- struct{}{}:
	case <-l.gone.C():
		return c.refusal()
	case <-c.shut.C():
		return ErrEnded
	}
	if !l.number(rs) {
		l.writing.pass()
		return c.refusal()
	}
	w := jute.NewWriter(nil)
	for _, r := range rs {
		w.Begin()
		r.ask.Encode(w)
		w.End()
	}
	if err := l.transmit(w.Bytes()); err != nil {
		l.lose(fmt.Errorf("write: %w", err)) // before the next frame has its turn, which then knows that it is not sent
	}
	l.writing.pass()
	return nil
}

// number makes each request the owner of the next xid; false if the line takes no requests any
// more. With the writing turn, so that the order in which answers are awaited is that of the
// frames.
func (l *line) number(rs []*request) bool {
	c := l.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != l || c.closing || c.cause != nil {
		return false
	}
	for _, r := range rs {
		for taken := true; taken; _, taken = l.pending[l.xid] {
			l.xid = max(l.xid+1, ownXids) // behind the last one it begins anew
		}
		r.ask.Xid, r.ask.Op, r.ask.Path, r.ask.Watch = l.xid, r.op, r.path, r.watch
		r.line = l
		r.sentAt = time.Now()
		l.pending[l.xid] = r
		l.await(l.xid)
		if r.op == jute.OpRemoveWatches {
			c.watches.remove(r.path, r.ask.Kind)
		}
	}
	return true
}

// deliver takes the answer to a request of the line's own.
func (l *line) deliver(r *request, answer jute.Reply, length int) error {
	r.code, r.zxid = answer.Err, answer.Zxid
	if length > l.conn.cfg.maxAnswer() {
		if _, err := l.in.Discard(4 + length); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		r.code = codeTooLarge
	} else {
		frame, err := l.takeFrame(length)
		if err != nil {
			return err
		}
		if err := answer.DecodeBody(jute.NewReader(frame[headerLength:]), r.op); err != nil {
			return fmt.Errorf("%w: %w", errMalformed, err)
		}
		if err := givenUp(&answer); err != nil {
			return err
		}
		r.reply = answer
	}
	if err := l.settle(r); err != nil {
		return err
	}
	r.answered.Close()
	return nil
}

func fromWire(s *jute.Stat) Stat {
	if *s == (jute.Stat{}) {
		return Stat{} // rather than one of 1970
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: time.UnixMilli(s.Ctime), Mtime: time.UnixMilli(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}

func wireACL(acl []ACL) []jute.ACL {
	all := make([]jute.ACL, len(acl))
	for i, a := range acl {
		all[i] = jute.ACL{Perms: int32(a.Perms), Scheme: a.Scheme, ID: a.ID}
	}
	return all
}
