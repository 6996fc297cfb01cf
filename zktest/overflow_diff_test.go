package zktest_test

// The end of the sequence of a znode: our server beside a real one that begins there.

import (
	"hash/adler32"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// snapshot is a real server's state on disk, after one transaction: znodes that have had so many
// children.
func snapshot(creations map[string]int32) string {
	var w jute.Writer
	w.Raw("ZKSN")
	w.Int(2)   // version
	w.Long(-1) // database
	w.Int(0)   // sessions
	w.Int(1)   // ACLs
	const openACL = 1
	w.Long(openACL)
	w.Int(1)
	w.Int(jute.PermAll)
	w.Text("world")
	w.Text("anyone")
	for _, path := range []string{"", "/zookeeper", "/zookeeper/quota", "/p", "/q"} {
		w.Text(path)
		w.Buffer([]byte{})
		w.Long(openACL)
		zxid := int64(0)
		if _, created := creations[path]; created {
			zxid = 1
		}
		for _, v := range []int64{zxid, zxid, 0, 0} { // czxid, mzxid, ctime, mtime
			w.Long(v)
		}
		w.Int(0) // version
		w.Int(creations[path])
		w.Int(0)     // aversion
		w.Long(0)    // owner
		w.Long(zxid) // pzxid
	}
	w.Text("/") // the end
	w.Long(int64(adler32.Checksum(w.Bytes())))
	w.Text("/")
	return string(w.Bytes())
}

// B20: at the end of int32 the counter of creations sticks, and what depends on it goes astray,
// exactly as on the real server: names, Pzxid, Cversion, alone and inside multis.
func TestB20_DifferentialAtTheEndOfTheSequence(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	const left = 20 // creations below /p until the end; /q is there already
	real := ensemble.Start(t, 1, append(realLike(24*time.Hour),
		ensemble.WithFile("version-2/snapshot.1", snapshot(map[string]int32{"/p": math.MaxInt32 - left, "/q": math.MaxInt32})))...)
	s := zktest.Start(t, likeReal(t, real, 24*time.Hour)...)
	require.NoError(t, s.Load(`{"path":"/p","data":""}{"path":"/q","data":""}`))
	require.NoError(t, s.SetSequence("/", 0)) // a snapshot's own znodes were not created
	require.NoError(t, s.SetSequence("/p", math.MaxInt32-left))
	require.NoError(t, s.SetSequence("/q", math.MaxInt32))
	d := pairUp(t, s.Servers(), real.Servers())
	for range *diffOps / 10 {
		p := pick(d, d.pairs)
		switch d.rnd.IntN(5) {
		case 0:
			q := jute.Request{Op: jute.OpMulti}
			for range 1 + d.rnd.IntN(3) {
				q.Ops = append(q.Ops, d.nearTheEnd())
			}
			d.do(p, q)
		case 1:
			d.do(p, jute.Request{Op: pick(d, []jute.Op{jute.OpGetData, jute.OpGetChildren2}), Path: pick(d, []string{"/p", "/q"}), Watch: true})
		default:
			d.do(p, d.nearTheEnd())
		}
	}
	d.events(false)
	d.tree("/p")
	d.tree("/q")
	require.Contains(t, s.Dump(), "2147483647", "it got there")
}

// nearTheEnd is a write below a znode whose counter is near its end.
func (d *differ) nearTheEnd() jute.Request {
	parent := pick(d, []string{"/p", "/p", "/q"})
	q := jute.Request{Op: jute.OpCreate2, Path: parent + "/" + pick(d, []string{"a-", "b-", "c-", "", "d"}), ACL: jute.OpenACL(), TTL: -1}
	switch d.rnd.IntN(6) {
	case 0:
		return jute.Request{Op: jute.OpDelete, Path: pick(d, []string{parent + "/d", parent + "/a-2147483647", parent + "/b-2147483647"}), Version: -1}
	case 1: // the same name again and again
	case 2:
		q.Flags = jute.FlagEphemeralSequential
	default:
		q.Flags = jute.FlagSequential
	}
	if q.Flags == 0 {
		q.Path = parent + "/d"
	}
	return q
}
