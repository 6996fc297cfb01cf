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

// desk is a machine whose reads are answered from a map, in order, by a server at a transaction.
type desk struct {
	*testing.T
	*trees.Machine
	zxid  int64
	nodes map[string]int64 // the last transaction of each
	wrong map[trees.Read]error
}

func newDesk(t *testing.T, zxid int64, nodes ...string) *desk {
	d := &desk{T: t, Machine: trees.New(0, 100), zxid: zxid, nodes: map[string]int64{}, wrong: map[trees.Read]error{}}
	for _, path := range nodes {
		d.nodes[path] = 1
	}
	return d
}

// answer answers a read.
func (d *desk) answer(r trees.Read) {
	mzxid, exists := d.nodes[r.Path]
	var res jute.Result
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
		err = errNoNode
	}
	d.Answer(r, &res, err, d.zxid, !exists)
}

// settle answers everything, and returns what is published then: the paths that it has.
func (d *desk) settle() (*trees.Tree, []string) {
	for reads := d.Next(100); len(reads) > 0; reads = d.Next(100) {
		for _, r := range reads {
			d.answer(r)
		}
	}
	out, _ := d.Due(time.Unix(1, 0))
	require.NotNil(d, out, "it never settles")
	var paths []string
	flatten(out.Root, "", func(path string, _ *trees.Node) { paths = append(paths, path) })
	return out, paths
}

// A deletion was told, the connection was lost before anything was read behind it, and the server
// of the next one is not there yet.
func TestADeletionThatTheNextServerHasNotSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 4, "", "a", "a/x", "b")
	_, paths := d.settle()
	require.Equal(t, []string{"", "a", "a/x", "b"}, paths)
	d.Event(jute.NodeDeleted, "a/x") // transaction 5
	d.Down()
	d.Known()
	d.Probed(4) // of which a/x is
	out, paths := d.settle()
	require.EqualValues(t, 4, out.Zxid)
	require.Equal(t, []string{"", "a", "a/x", "b"}, paths, "the state at 4")
	d.Event(jute.NodeDeleted, "a/x")
	d.zxid = 5
	delete(d.nodes, "a/x")
	out, paths = d.settle()
	require.EqualValues(t, 5, out.Zxid)
	require.Equal(t, []string{"", "a", "b"}, paths)
}

// A znode that is not probed, since another tree has its root there, is deleted and made again
// while the probe is under way.
func TestARefreshOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 4, "", "a")
	d.settle()
	d.Down()
	d.Known()
	d.Event(jute.NodeDeleted, "a")
	d.Refresh("a")
	d.Event(jute.NodeChildrenChanged, "") // the answer to the probe of the root
	d.Probed(5)
	d.Event(jute.NodeCreated, "a") // the listing of the root is to come
	d.zxid = 6
	_, paths := d.settle()
	require.Equal(t, []string{"", "a"}, paths)
}

// The data are too large for a reply, and the listing that was asked for with them is not.
func TestAListingDoesNotMakeUpForTheData(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 4, "", "a", "a/x")
	tooLarge := errors.New("too large")
	d.wrong[trees.Read{Path: "a", Op: jute.OpGetData}] = tooLarge
	d.SetPlain() // then both are asked for together
	out, paths := d.settle()
	require.Equal(t, []string{"", "a"}, paths)
	require.Equal(t, tooLarge, out.Root.At("a").Unread)
}

// The root may not be read when it is seen to be there.
func TestABirthThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, 4)
	d.SetPlain()
	d.answer(trees.Read{Op: jute.OpGetData}) // missing
	d.nodes[""] = 5
	d.zxid = 5
	for _, op := range []jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren2} {
		d.wrong[trees.Read{Op: op}] = errNoAuth
	}
	out, paths := d.settle()
	require.Equal(t, []string{""}, paths)
	require.Equal(t, errNoAuth, out.Root.Unread)
}
