package zktest_test

// What the differential test of hostile bytes sends: requests that were mangled.

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// outcome is what a server makes of a frame: the replies before the answer to a ping sent behind
// it, and whether it hung up.
type outcome struct {
	replies []string
	closed  bool
}

// show is a reply's fields that are set.
func show(p jute.Reply) string {
	text := fmt.Sprintf("%+v", p)
	for _, empty := range []string{" Path:", " Data:[]", " ACL:[]", " Names:[]", " Results:[]", " Count:0", " Identity:[]"} {
		text = strings.Replace(text, empty+" ", " ", 1)
	}
	return strings.ReplaceAll(text, fmt.Sprintf(" Stat:%+v", jute.Stat{}), "")
}

// throw sends a raw frame, and a ping behind it.
func (c *raw) throw(frame []byte, op jute.Op, normal func(jute.Reply) jute.Reply) outcome {
	var o outcome
	c.conn.SetDeadline(time.Now().Add(patience))
	w := jute.NewWriter(nil)
	w.Begin()
	all := append(w.Bytes(), frame...)
	binary.BigEndian.PutUint32(all, uint32(len(frame)))
	ping := jute.NewWriter(all)
	ping.Begin()
	(&jute.Request{Xid: jute.XidPing, Op: jute.OpPing}).Encode(ping)
	ping.End()
	if _, err := c.conn.Write(ping.Bytes()); err != nil {
		o.closed = true
	}
	for {
		frame, err := c.frame()
		if err != nil {
			o.closed = true
			return o
		}
		var p jute.Reply
		r := jute.NewReader(frame)
		if err := p.DecodeHeader(r); err != nil {
			o.replies = append(o.replies, "undecodable "+hex.EncodeToString(frame))
			continue
		}
		switch p.Xid {
		case jute.XidPing:
			return o
		case jute.XidEvent:
			var e jute.Event
			e.Decode(r)
			o.replies = append(o.replies, fmt.Sprintf("%+v", e))
			continue
		}
		if err := p.DecodeBody(r, op); err != nil {
			o.replies = append(o.replies, err.Error())
		}
		o.replies = append(o.replies, show(normal(p)))
	}
}

// mangle makes a valid request into one that perhaps isn't.
func (d *differ) mangle(q jute.Request) (frame []byte, op jute.Op) {
	w := jute.NewWriter(nil)
	q.Encode(w)
	frame = w.Bytes()
	const header = 8
	switch d.rnd.IntN(5) {
	case 0: // ends too early
		return frame[:d.rnd.IntN(len(frame)+1)], q.Op
	case 1: // goes on
		return append(frame, make([]byte, 1+d.rnd.IntN(10))...), q.Op
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
	return frame, q.Op
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

func (d *differ) hostile() {
	p := pick(d, d.pairs)
	q := d.read()
	switch d.rnd.IntN(7) {
	case 6:
		q = pick(d, []jute.Request{
			d.multiRead(),
			{Op: jute.OpAddWatch, Path: d.path()},
			{Op: jute.OpRemoveWatches, Path: d.path(), Kind: 3},
			{Op: jute.OpCheckWatches, Path: d.path(), Kind: 1},
			{Op: jute.OpGetEphemerals, Path: "/"},
			{Op: jute.OpCountChildren, Path: d.path()},
			{Op: jute.OpReconfig, Names: []string{"", "", ""}},
			{Op: jute.OpSASL, Data: []byte("token")},
			{Op: jute.OpSetWatches2, DataW: []string{d.path()}, PersistW: []string{d.path()}, RecursW: []string{d.path()}, Zxid: 1 << 40},
		})
	case 0, 1:
		q = d.create()
		q.TTL = max(q.TTL, 0)
	case 2:
		q = d.multi()
	case 3:
		q = jute.Request{Op: jute.OpSetWatches, DataW: []string{d.path()}, ExistW: []string{d.path()}, ChildW: []string{d.path()}, Zxid: 1 << 40}
	case 4:
		q = pick(d, []jute.Request{{Op: jute.OpSetACL, Path: d.path(), ACL: d.acl()}, {Op: jute.OpSetAuth, Scheme: "digest", Data: []byte("u:p")}})
	}
	q.Watch = false
	p.ours.xid++
	p.real.xid = p.ours.xid
	q.Xid = p.ours.xid
	frame, op := d.mangle(q)
	if deadly(frame) {
		return
	}
	d.remember(p, fmt.Sprintf("%s mangled: %x", describe(q), frame))
	a := p.ours.throw(frame, op, func(p jute.Reply) jute.Reply { return d.normal(p, false) })
	b := p.real.throw(frame, op, func(p jute.Reply) jute.Reply { return d.normal(p, true) })
	d.remember(p, fmt.Sprintf("\t%+v", a))
	if fmt.Sprint(a) != fmt.Sprint(b) {
		d.fatalf("ours %+v\nreal %+v", a, b)
	}
	if a.closed {
		d.replace(p, p)
	}
	d.events(false)
}
