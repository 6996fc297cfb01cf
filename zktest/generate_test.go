package zktest_test

import (
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
	aclIDs  = []string{"anyone", "", "u:p", "bob:x", "bob", "a:b:c", "a:", ":", "127.0.0.1", "127.0.0.0/8", "10.0.0.1", "10.0.0.0/33", "1.2.3", "::1"}
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

func (d *differ) step() {
	who := d.rnd.IntN(len(d.pairs))
	switch d.rnd.IntN(36) {
	case 30, 31, 32:
		d.do(who, jute.Request{
			Op: pick(d, []jute.Op{jute.OpAddWatch, jute.OpCheckWatches, jute.OpRemoveWatches}), Path: d.path(),
			Flags: int32(d.rnd.IntN(5)) - 1 + int32(d.rnd.IntN(2)), Kind: int32(d.rnd.IntN(5)),
		})
	case 33, 34:
		d.do(who, pick(d, []jute.Request{
			{Op: jute.OpGetEphemerals, Path: d.path()},
			{Op: jute.OpGetEphemerals, Path: " "},
			{Op: jute.OpCountChildren, Path: d.path()},
			{Op: jute.OpCountChildren, Path: "/"},
			{Op: jute.OpWhoAmI},
			{Op: jute.OpReconfig, Names: []string{"", "", ""}},
			{Op: jute.OpReconfig, Names: []string{jute.Null, jute.Null, "server.1=x"}, Zxid: -1},
			{Op: jute.OpDeleteContainer, Path: d.path()},
		}))
	case 35:
		d.do(who, d.multiRead())

	case 0, 1, 2, 3, 4, 5, 6, 7, 8, 9:
		q := d.write()
		if q.Op == jute.OpCheck {
			q.Version = -99 // the real server never answers one that succeeds, nor anything after it
		}
		d.do(who, q)
	case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
		d.do(who, d.read())
	case 21, 22, 23, 24:
		d.do(who, d.multi())
	case 25:
		d.do(who, jute.Request{Op: jute.OpSetACL, Path: d.path(), ACL: d.acl(), Version: d.version()})
	case 26:
		if d.rnd.IntN(5) == 0 {
			d.do(who, jute.Request{Xid: jute.XidAuth, Op: jute.OpSetAuth, Scheme: "digest", Data: []byte(pick(d, []string{"u:p", "bob:secret", "x"}))})
		}
	case 27:
		d.setWatches(who)
	case 28:
		if d.rnd.IntN(3) == 0 {
			d.reopen(who)
		}
	case 29:
		d.cleanse(who)
	}
}

func (d *differ) setWatches(who int) {
	q := jute.Request{Op: pick(d, []jute.Op{jute.OpSetWatches, jute.OpSetWatches2}), Xid: jute.XidSetWatches, Zxid: d.pairs[who].ours.seen - int64(d.rnd.IntN(30))}
	for range d.rnd.IntN(3) {
		q.DataW = append(q.DataW, d.path())
		q.ExistW = append(q.ExistW, d.path())
		q.ChildW = append(q.ChildW, d.path())
		if d.rnd.IntN(4) == 0 {
			q.PersistW = append(q.PersistW, d.path())
			q.RecursW = append(q.RecursW, d.path())
		}
	}
	d.doEach(who, q, func(q jute.Request) jute.Request { q.Zxid += d.offset; return q })
}

// reopen closes a session, or leaves its connection and comes back.
func (d *differ) reopen(who int) {
	p := d.pairs[who]
	old := p
	if d.rnd.IntN(2) == 0 {
		_, err := p.ours.do(jute.Request{Op: jute.OpCloseSession})
		if err != nil {
			d.fatalf("close: %v", err)
		}
		_, err = p.real.do(jute.Request{Op: jute.OpCloseSession})
		if err != nil {
			d.fatalf("close: %v", err)
		}
		old = nil
	}
	p.ours.conn.Close()
	p.real.conn.Close()
	d.log = append(d.log, "reopened")
	d.pairs[who] = d.open(old)
	d.do(who, jute.Request{Op: jute.OpSync, Path: closed})
}

// cleanse deletes what has become too much.
func (d *differ) cleanse(who int) {
	for _, name := range goodNames {
		d.do(who, jute.Request{Op: jute.OpGetChildren2, Path: "/" + name})
	}
}
