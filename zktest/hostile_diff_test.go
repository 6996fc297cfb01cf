package zktest_test

// The differential test's mangled requests.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// throw sends a raw frame, and a ping behind it. It returns what the server says before the answer
// to that, or before it hangs up.
func (c *raw) throw(frame []byte, op jute.Op, normal func(jute.Reply) jute.Reply) (said []string, closed bool) {
	c.conn.SetDeadline(time.Now().Add(patience))
	w := jute.NewWriter(nil)
	w.Begin()
	w.Raw(string(frame))
	w.End()
	w.Begin()
	(&jute.Request{Xid: jute.XidPing, Op: jute.OpPing}).Encode(w)
	w.End()
	_, _ = c.conn.Write(w.Bytes()) // it may have hung up: then that is what is read
	for {
		frame, err := c.frame()
		if err != nil {
			return said, true
		}
		var p jute.Reply
		r := jute.NewReader(frame)
		switch err := p.DecodeHeader(r); {
		case err != nil:
			said = append(said, fmt.Sprintf("%x", frame))
		case p.Xid == jute.XidPing:
			return said, false
		case p.Xid == jute.XidEvent:
			var e jute.Event
			e.Decode(r)
			said = append(said, fmt.Sprintf("%+v", e))
		default:
			err := p.DecodeBody(r, op)
			said = append(said, fmt.Sprintf("%+v %v", normal(p), err))
		}
	}
}

// mangle makes a valid request into one that perhaps isn't.
func (d *differ) mangle(q jute.Request) []byte {
	w := jute.NewWriter(nil)
	q.Encode(w)
	frame := w.Bytes()
	const header = 8
	switch d.rnd.IntN(5) {
	case 0: // ends too early
		return frame[:d.rnd.IntN(len(frame)+1)]
	case 1: // goes on
		return append(frame, make([]byte, 1+d.rnd.IntN(10))...)
	case 2, 3: // a number that is something else
		if len(frame) >= header+4 {
			v := pick(d, []int32{-1, -2, 0, 1, 5, 1000, 1 << 20, 1<<31 - 1, -1 << 31})
			binary.BigEndian.PutUint32(frame[header+d.rnd.IntN(len(frame)-header-3):], uint32(v))
		}
	case 4: // bytes that are something else
		for range 1 + d.rnd.IntN(4) {
			if len(frame) > header {
				frame[header+d.rnd.IntN(len(frame)-header)] = byte(d.rnd.IntN(256))
			}
		}
	}
	return frame
}

// deadly reports whether the real server would not be the same afterwards.
func deadly(frame []byte) bool {
	var q jute.Request
	if q.Decode(jute.NewReader(frame)) != nil {
		return false
	}
	switch q.Op {
	case jute.OpCreateTTL: // it dies of applying a TTL that is none
		return q.Flags < jute.FlagPersistentTTL && q.TTL < 0
	case jute.OpAddWatch: // it doesn't get rid of watches on null any more, nor of those behind them
		return q.Path == jute.Null
	case jute.OpSetWatches2:
		return slices.Contains(slices.Concat(q.PersistW, q.RecursW), jute.Null)
	}
	return false
}

// garble sends a request that was mangled, and comes back if that was the end of the connection.
func (d *differ) garble() {
	p := pick(d, d.pairs)
	q := d.request()
	for alone(q) {
		q = d.request()
	}
	switch d.rnd.IntN(8) {
	case 0:
		q = jute.Request{Op: jute.OpSetWatches, DataW: []string{d.path()}, ExistW: []string{d.path()}, ChildW: []string{d.path()}, Zxid: 1 << 40}
	case 1:
		q = jute.Request{Op: jute.OpSetAuth, Scheme: "digest", Data: []byte("u:p")}
	case 2:
		q = jute.Request{Op: jute.OpSASL, Data: []byte("token")}
	}
	q.Watch, q.TTL = false, max(q.TTL, 0)
	p.ours.xid++
	p.real.xid = p.ours.xid
	q.Xid = p.ours.xid
	frame := d.mangle(q)
	if deadly(frame) {
		return
	}
	d.done++
	d.remember(p, fmt.Sprintf("%+v mangled: %x", q, frame))
	a, closed := p.ours.throw(frame, q.Op, func(p jute.Reply) jute.Reply { return d.normal(p, false) })
	b, hungUp := p.real.throw(frame, q.Op, func(p jute.Reply) jute.Reply { return d.normal(p, true) })
	if !slices.Equal(a, b) || closed != hungUp {
		d.fatalf("ours %v, hung up %t\nreal %v, hung up %t", a, closed, b, hungUp)
	}
	if closed {
		d.replace(p, p)
	}
	d.events(false)
}
