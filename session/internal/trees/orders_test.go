// Orders of events and answers that are told one by one.

package trees_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/trees"
)

// desk is a machine on a connection whose reads are answered from a map, in order, by a server at a
// transaction.
type desk struct {
	*testing.T
	*trees.Machine
	zxid  int64
	nodes map[string]int64 // the last transaction of each
	wrong map[trees.Read]error
}

func newDesk(t *testing.T, plain bool, zxid int64, nodes ...string) *desk {
	d := &desk{T: t, Machine: trees.New(0, 100, plain), zxid: zxid, nodes: map[string]int64{}, wrong: map[trees.Read]error{}}
	for _, path := range nodes {
		d.nodes[path] = 1
	}
	d.reconnect()
	d.Probed()
	return d
}

// reconnect begins on the next connection.
func (d *desk) reconnect() {
	d.Down()
	d.Resume(func(string, bool) {})
}

// answer answers a read.
func (d *desk) answer(r trees.Read) {
	mzxid, exists := d.nodes[r.Path]
	res := jute.Reply{Zxid: d.zxid}
	for path := range d.nodes {
		if path != "" && parent(path) == r.Path {
			res.Names = append(res.Names, path[len(trees.Join(r.Path, "")):])
		}
	}
	res.Stat = jute.Stat{Czxid: 1, Mzxid: mzxid, NumChildren: int32(len(res.Names))}
	if r.Op == jute.OpGetData {
		res.Data, res.Names = []byte("data"), nil
	}
	err := d.wrong[r]
	if !exists {
		res.Err, err = jute.NoNode, errNoNode
	}
	d.Answer(r, &res, err)
}

// settle answers everything, and returns what is published then, the transaction of which it is the
// state, and the paths that it has.
func (d *desk) settle() (out *trees.Node, zxid int64, paths []string) {
	for reads, _, _ := d.Next(100); len(reads) > 0; reads, _, _ = d.Next(100) {
		for _, r := range reads {
			d.answer(r)
		}
	}
	out, zxid, _ = d.Due(time.Unix(1, 0))
	require.NotNil(d, out, "it never settles")
	flatten(out, "", func(path string, _ *trees.Node) { paths = append(paths, path) })
	return out, zxid, paths
}

// A deletion was told, the connection was lost before anything was read behind it, and the server
// of the next one is not there yet.
func TestADeletionThatTheNextServerHasNotSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false, 4, "", "a", "a/x", "b")
	_, _, paths := d.settle()
	require.Equal(t, []string{"", "a", "a/x", "b"}, paths)
	d.Event(jute.NodeDeleted, "a/x") // transaction 5
	d.reconnect()
	d.Probed() // by a server at 4, of which a/x is
	_, zxid, paths := d.settle()
	require.EqualValues(t, 4, zxid)
	require.Equal(t, []string{"", "a", "a/x", "b"}, paths, "the state at 4")
	d.Event(jute.NodeDeleted, "a/x")
	d.zxid = 5
	delete(d.nodes, "a/x")
	_, zxid, paths = d.settle()
	require.EqualValues(t, 5, zxid)
	require.Equal(t, []string{"", "a", "b"}, paths)
}

// A znode that is not probed, since another tree has its root there, is deleted and made again
// while the probe is under way.
func TestARefreshOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false, 4, "", "a")
	d.settle()
	d.reconnect()
	d.Event(jute.NodeDeleted, "a")
	d.Event(jute.NodeDataChanged, "a") // which is what it is told rather than that it is probed
	d.Event(jute.NodeChildrenChanged, "a")
	d.Event(jute.NodeChildrenChanged, "") // the answer to the probe of the root
	d.Probed()
	d.Event(jute.NodeCreated, "a") // the listing of the root is to come
	d.zxid = 6
	_, _, paths := d.settle()
	require.Equal(t, []string{"", "a"}, paths)
}

// The data are too large for a reply, and a listing that is asked for later is not.
func TestAListingDoesNotMakeUpForTheData(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		d := newDesk(t, plain, 4, "", "a", "a/x")
		tooLarge := errors.New("too large")
		d.wrong[trees.Read{Path: "a", Op: jute.OpGetData}] = tooLarge
		out, _, paths := d.settle()
		require.Equal(t, []string{"", "a"}, paths)
		require.Equal(t, tooLarge, out.At("a").Unread)
		if !plain {
			d.reconnect() // where a change of the children is told apart
		}
		d.Event(jute.NodeChildrenChanged, "a")
		d.Event(jute.NodeDataChanged, "") // so that there is something to publish
		d.nodes[""]++
		d.Probed()
		out, _, paths = d.settle()
		require.Equal(t, []string{"", "a"}, paths)
		require.Equal(t, tooLarge, out.At("a").Unread)
	}
}

// The root may not be read when it is seen to be there.
func TestABirthThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true, 4)
	reads, _, _ := d.Next(1)
	d.answer(reads[0]) // missing
	d.nodes[""] = 5
	d.zxid = 5
	for _, op := range []jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren2} {
		d.wrong[trees.Read{Op: op}] = errNoAuth
	}
	out, _, paths := d.settle()
	require.Equal(t, []string{""}, paths)
	require.Equal(t, errNoAuth, out.Unread)
}

// One znode is made and another is deleted in one transaction: there were never more than is
// allowed.
func TestMoreZnodesThanAllowedWithinATransaction(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false, 4, "", "a")
	d.Machine = trees.New(0, 2, false)
	d.reconnect()
	d.Probed()
	d.settle()
	delete(d.nodes, "a")
	d.nodes["b"], d.zxid = 5, 5
	d.Event(jute.NodeCreated, "b")
	reads, _, full := d.Next(100)
	require.False(t, full)
	d.Event(jute.NodeDeleted, "a")
	for _, r := range reads {
		d.answer(r)
	}
	_, _, paths := d.settle()
	require.Equal(t, []string{"", "b"}, paths)
	_, _, full = d.Next(100)
	require.False(t, full)
	d.nodes["c"] = 6
	d.Event(jute.NodeCreated, "c")
	d.settle()
	_, _, full = d.Next(100)
	require.True(t, full)
}

// A listing was too large, and now the data are too.
func TestDataThatBecomeTooLargeBesideTheirListing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false, 4, "", "a", "a/x")
	tooLarge := errors.New("too large")
	d.wrong[trees.Read{Path: "a", Op: jute.OpGetChildren2}] = tooLarge
	out, _, _ := d.settle()
	require.Equal(t, "data", string(out.At("a").Data))
	d.wrong[trees.Read{Path: "a", Op: jute.OpGetData}] = tooLarge
	d.zxid = 5
	d.Event(jute.NodeDataChanged, "a")
	out, _, _ = d.settle()
	require.Equal(t, tooLarge, out.At("a").Unread)
	require.Empty(t, out.At("a").Data, "which it has no more")
}

// What no request can name is not read for ever.
func TestAnEventOfAPathThatIsNone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false, 4, "", "a")
	d.settle()
	d.Event(jute.NodeCreated, "/a")
	d.Event(jute.NodeCreated, "a/..")
	reads, _, _ := d.Next(1)
	require.Empty(t, reads)
}

// After a loss of data a transaction may be another one of the same number.
func TestAZnodeThatWasMadeByAnotherTransactionIsAnother(t *testing.T) {
	t.Parallel()
	before, _, _ := newDesk(t, false, 4, "", "a").settle()
	other := newDesk(t, false, 4, "", "a")
	reads, _, _ := other.Next(1)
	other.Answer(reads[0], &jute.Reply{Zxid: 4, Data: []byte("data"), Stat: jute.Stat{Czxid: 2, Mzxid: 1, NumChildren: 1}}, nil)
	after, _, _ := other.settle()
	var paths []string
	for path := range trees.Changed(before, after) {
		paths = append(paths, path)
	}
	require.Equal(t, []string{""}, paths)
}
