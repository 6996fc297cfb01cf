package zktest_test

// The random requests of the differential tests, good and bad, and the other acts of a session.

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

var (
	goodNames = []string{"a", "b", "c", "d", "é"}
	badPaths  = []string{
		"", "a", "/", "//", "/a/", "/a//b", "/./a", "/a/..", "/a\x00", "/a\x01", "/\u0085", "/\ue000", "/😀", "/zookeeper", "/zookeeper/quota", "/zookeeper/x",
		"/a/b/c/d/e",
	}
	schemes = []string{"digest", "ip", "world", "auth", "nonsense", ""}
	aclIDs  = []string{
		"anyone", "", "u:p", "bob:x", "bob", "a:b:c", "a:", ":", "127.0.0.1", "127.0.0.0/8", "10.0.0.1", "10.0.0.0/33", "1.2.3", "127.0.0.01",
		"::1", "fe80::/10", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::8", "1:2:3", "::1/129", "::ffff:1.2.3.4", "1::2::3", ":::",
	}
)

func pick[T any](d *differ, from []T) T { return from[d.rnd.IntN(len(from))] }

func (d *differ) path() string {
	if d.rnd.IntN(40) == 0 {
		return pick(d, badPaths)
	}
	var b strings.Builder
	for range 1 + d.rnd.IntN(3) {
		b.WriteString("/" + pick(d, goodNames))
	}
	return b.String()
}

func (d *differ) data() []byte {
	switch d.rnd.IntN(4) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	return []byte(strings.Repeat("x", d.rnd.IntN(20)))
}

func (d *differ) version() int32 {
	if d.rnd.IntN(2) == 0 {
		return -1
	}
	return int32(d.rnd.IntN(4)) - 1
}

func (d *differ) acl() []jute.ACL {
	switch d.rnd.IntN(20) {
	case 0:
		return nil
	case 1:
		return []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}
	case 2:
		return []jute.ACL{{Perms: int32(d.rnd.IntN(32)), Scheme: "world", ID: "anyone"}, {Perms: jute.PermRead | jute.PermAdmin, Scheme: "digest", ID: "u:x"}}
	case 3:
		var all []jute.ACL
		for range 1 + d.rnd.IntN(3) {
			all = append(all, jute.ACL{Perms: int32(d.rnd.IntN(32)), Scheme: pick(d, schemes), ID: pick(d, aclIDs)})
		}
		return all
	}
	return jute.OpenACL()
}

func (d *differ) create() jute.Request {
	q := jute.Request{Op: jute.OpCreate, Path: d.path(), Data: d.data(), ACL: d.acl(), TTL: -1}
	switch d.rnd.IntN(12) {
	case 0:
		q.Op = jute.OpCreate2
	case 1:
		q.Op, q.Flags = jute.OpCreateContainer, jute.FlagContainer
	case 2:
		q.Op, q.Flags, q.TTL = jute.OpCreateTTL, 5+int32(d.rnd.IntN(2)), int64(3600_000)
	case 3:
		q.Flags = int32(d.rnd.IntN(9)) - 1
	case 4, 5, 6:
		q.Flags = int32(d.rnd.IntN(4))
	case 7:
		q.Op, q.Flags, q.TTL = jute.OpCreateTTL, int32(d.rnd.IntN(9))-1, []int64{-1, 0, 1 << 40, 1<<40 - 1, 5000000}[d.rnd.IntN(5)]
		if q.Flags < 5 && q.TTL == -1 {
			q.TTL = 0 // the real server dies of it
		}
	case 8:
		q.Op, q.Flags = jute.OpCreateContainer, int32(d.rnd.IntN(7))
	}
	return q
}

func (d *differ) write() jute.Request {
	switch d.rnd.IntN(8) {
	case 0, 1:
		return jute.Request{Op: jute.OpDelete, Path: d.path(), Version: d.version()}
	case 2, 3:
		return jute.Request{Op: jute.OpSetData, Path: d.path(), Data: d.data(), Version: d.version()}
	case 4:
		return jute.Request{Op: jute.OpCheck, Path: d.path(), Version: d.version()}
	}
	return d.create()
}

func (d *differ) read() jute.Request {
	ops := []jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2, jute.OpGetACL, jute.OpSync}
	return jute.Request{Op: pick(d, ops), Path: d.path(), Watch: d.rnd.IntN(2) == 0}
}

func (d *differ) multi() jute.Request {
	q := jute.Request{Op: jute.OpMulti}
	for range d.rnd.IntN(5) {
		w := d.write()
		if w.Op == jute.OpCheck && d.rnd.IntN(2) == 0 || (w.Op != jute.OpCreateTTL && w.Flags >= 5) {
			continue // the latter: the real server dies of a class cast
		}
		q.Ops = append(q.Ops, w)
	}
	return q
}

func (d *differ) multiRead() jute.Request {
	q := jute.Request{Op: jute.OpMultiRead}
	for range d.rnd.IntN(4) {
		q.Ops = append(q.Ops, jute.Request{Op: pick(d, []jute.Op{jute.OpGetData, jute.OpGetChildren}), Path: d.path(), Watch: true})
	}
	return q
}

// request is one that any session can send at any time.
func (d *differ) request() jute.Request {
	switch d.rnd.IntN(33) {
	case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9:
		q := d.write()
		if q.Op == jute.OpCheck {
			q.Version = -99 // the real server never answers one that succeeds, nor anything after it
		}
		return q
	case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
		return d.read()
	case 21, 22, 23, 24:
		return d.multi()
	case 25:
		return jute.Request{Op: jute.OpSetACL, Path: d.path(), ACL: d.acl(), Version: d.version()}
	case 26, 27, 28:
		return jute.Request{
			Op: pick(d, []jute.Op{jute.OpAddWatch, jute.OpCheckWatches, jute.OpRemoveWatches}), Path: d.path(),
			Flags: int32(d.rnd.IntN(5)) - 1 + int32(d.rnd.IntN(2)), Kind: int32(d.rnd.IntN(5)),
		}
	case 29, 30:
		return pick(d, []jute.Request{
			{Op: jute.OpGetEphemerals, Path: d.path()},
			{Op: jute.OpGetEphemerals, Path: " "},
			{Op: jute.OpCountChildren, Path: d.path()},
			{Op: jute.OpCountChildren, Path: "/"},
			{Op: jute.OpWhoAmI},
			{Op: jute.OpReconfig, Names: []string{"", "", ""}},
			{Op: jute.OpReconfig, Names: []string{jute.Null, jute.Null, "server.1=x"}, Zxid: -1},
			{Op: jute.OpDeleteContainer, Path: d.path()},
		})
	case 31:
		return d.multiRead()
	}
	return jute.Request{Op: jute.OpGetChildren2, Path: "/" + pick(d, goodNames)}
}

// step is one request, or some of the same session in flight together; once in a while the
// session's connection ends, or the session.
func (d *differ) step() {
	p := pick(d, d.pairs)
	switch d.rnd.IntN(80) {
	case 0:
		d.authenticate(p)
	case 1, 2:
		d.setWatches(p)
	case 3:
		d.reopen(p)
	case 4, 5, 6, 7, 8, 9:
		d.events(false)
	default:
		some := make([]jute.Request, 1)
		if d.rnd.IntN(2) == 0 {
			some = make([]jute.Request, 2+d.rnd.IntN(15))
		}
		for i := range some {
			for some[i] = d.request(); len(some) > 1 && alone(some[i]); {
				some[i] = d.request()
			}
		}
		d.doAll(p, some, slices.Clone(some))
	}
}

// alone reports whether a request can't be compared while others are in flight behind it, since the
// real server's answers to those depend on how far it has come with this one: a setACL is not seen
// until it is applied, and in a create whose operation and flags contradict each other, by itself
// or in a multi, the flags count until it is applied, and the operation afterwards. On a check
// outside a multi, since 3.9.3, and on a deleteContainer, since 3.9.6, it hangs up at once, before
// it has answered the requests ahead.
func alone(q jute.Request) bool {
	switch q.Op {
	case jute.OpSetACL, jute.OpCheck, jute.OpDeleteContainer:
		return true
	case jute.OpMulti:
		return slices.ContainsFunc(q.Ops, contradicts)
	}
	return contradicts(q)
}

func contradicts(q jute.Request) bool {
	return (q.Op == jute.OpCreateContainer || q.Op == jute.OpCreateTTL) && (q.Flags == jute.FlagEphemeral || q.Flags == jute.FlagEphemeralSequential)
}

func (d *differ) authenticate(p *twins) {
	q := jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: "digest", Data: []byte(pick(d, []string{"u:p", "bob:secret", "x"}))}
	switch d.rnd.IntN(10) {
	case 0:
		q.Data = []byte("super:" + superPassword)
	case 1:
		q.Data = []byte("super:wrong")
	case 2:
		q.Scheme = "ip"
	case 3:
		q.Scheme = pick(d, []string{"nonsense", "", "world", "auth"})
		d.do(p, q)
		d.hungUp(p)
		return
	}
	d.do(p, q)
}

// hungUp expects that both servers close the connection, and comes back.
func (d *differ) hungUp(p *twins) {
	for _, c := range []*raw{p.ours, p.real} {
		if frame, err := c.frame(); err == nil {
			d.fatalf("%s: %x instead of the end", d.name(p), frame)
		}
	}
	d.replace(p, p)
}

// setWatches does what a client does that has come back, with watches that it may have had.
func (d *differ) setWatches(p *twins) {
	q := jute.Request{Op: pick(d, []jute.Op{jute.OpSetWatches, jute.OpSetWatches2}), Xid: jute.XidSetWatches, Zxid: p.ours.seen - int64(d.rnd.IntN(30))}
	for range d.rnd.IntN(3) {
		q.DataW = append(q.DataW, d.path())
		q.ExistW = append(q.ExistW, d.path())
		q.ChildW = append(q.ChildW, d.path())
		if d.rnd.IntN(4) == 0 {
			q.PersistW = append(q.PersistW, d.path())
			q.RecursW = append(q.RecursW, d.path())
		}
	}
	forReal := q
	forReal.Zxid += d.offset
	d.doAll(p, []jute.Request{q}, []jute.Request{forReal})
}

// reopen closes a session, or leaves its connection and comes back.
func (d *differ) reopen(p *twins) {
	d.events(false)
	old := p
	if d.rnd.IntN(2) == 0 {
		d.doClose(p)
		old = nil
	}
	d.replace(p, old)
	d.events(true)
}

func (d *differ) doClose(p *twins) {
	bye := jute.Request{Op: jute.OpCloseSession}
	d.remember(p, bye)
	if _, err := p.ours.do(bye); err != nil {
		d.fatalf("close: %v", err)
	}
	if _, err := p.real.do(bye); err != nil {
		d.fatalf("close: %v", err)
	}
}
