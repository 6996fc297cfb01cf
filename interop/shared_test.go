package interop_test

// Shared locks of Troupe's with those of other libraries, and locks that are one plain znode.
// Helpers: guard_test.go (holds, begin, awaitContenders, onEach, guard), contenders_test.go (maker,
// ourLock).

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// sharing is a shared lock of another library's, "theirs", and the layout of ours in the same
// queue.
type sharing struct {
	layout lock.Layout // of our readers and writers
	reader maker       // of theirs; none: they have only a writer
	writer maker       // of theirs
	hasty  bool        // their reader gives up early, since it can get stuck
}

// The rows "in its own" have ours in the layout of theirs. In the others theirs are in ours: kazoo
// with the option that names our znodes to it ("read-beside"), and ZooKeeper's WriteLock as a
// writer among readers and writers of ours. A reader of kazoo's is hasty since it waits for writers
// behind it too (its issue 649), which wait for it.
var sharings = map[string]sharing{
	"kazoo": {
		layout: lock.Troupe, hasty: true,
		reader: maker{driver: kazooDriver, client: "kazoo", recipe: "read-beside", wants: together},
		writer: maker{driver: kazooDriver, client: "kazoo", recipe: "write-beside", wants: alone},
	},
	"kazoo in its own": {
		layout: lock.Kazoo, hasty: true,
		reader: maker{driver: kazooDriver, client: "kazoo", recipe: "read", wants: together},
		writer: maker{driver: kazooDriver, client: "kazoo", recipe: "write", wants: alone},
	},
	"curator in its own": {
		layout: lock.Curator,
		reader: maker{driver: javaDriver, client: "curator", recipe: "read", wants: together},
		writer: maker{driver: javaDriver, client: "curator", recipe: "write", wants: alone},
	},
	"writelock": {
		layout: lock.Troupe,
		writer: maker{driver: javaDriver, client: "zookeeper", recipe: "writelock", wants: alone},
	},
}

func (p sharing) ourReader(t *testing.T, address, path string) contender {
	t.Helper()
	return ourLock(t, together, lock.NewRead, address, path, p.layout)
}

func (p sharing) ourWriter(t *testing.T, address, path string) contender {
	t.Helper()
	return ourLock(t, alone, lock.NewWrite, address, path, p.layout)
}

// theirReader is one of ours where they have none.
func (p sharing) theirReader(t *testing.T, address, path string) contender {
	t.Helper()
	if p.reader == (maker{}) {
		return p.ourReader(t, address, path)
	}
	return p.reader.make(t, address, path)
}

// Readers and writers of ours with theirs, for a while; some give up waiting.
func TestNoWriterHoldsBesideAnother(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, sharings, func(t *testing.T, s *session.Session, address, path string, p sharing) {
		reader := p.theirReader(t, address, path)
		if p.hasty {
			reader = impatient{reader}
		}
		new(guard).contend(t, s, path, 15, reader, p.writer.make(t, address, path),
			p.ourReader(t, address, path), p.ourReader(t, address, path), p.ourWriter(t, address, path))
	})
}

// Readers of both hold together; a writer waits for all of them, and they for a writer.
func TestReadersHoldTogether(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, sharings, func(t *testing.T, s *session.Session, address, path string, p sharing) {
		theirReader, ourReader := p.theirReader(t, address, path), p.ourReader(t, address, path)
		for _, writer := range []contender{p.writer.make(t, address, path), p.ourWriter(t, address, path)} {
			takeTurns(t, s, path, theirReader, ourReader, writer)
		}
		awaitContenders(t, s, path, 0)
	})
}

// takeTurns: both readers hold, and then the writer, which waits for the last of them; then the
// readers again, which wait for the writer.
func takeTurns(t *testing.T, s *session.Session, path string, theirReader, ourReader, writer contender) {
	t.Helper()
	holds(t, theirReader)
	holds(t, ourReader)
	writing := begin(writer)
	awaitContenders(t, s, path, 3)
	require.NoError(t, theirReader.release())
	awaitContenders(t, s, path, 2)
	require.NoError(t, s.Sync(t.Context(), path)) // a round trip in which a writer that is wrong could acquire
	require.Empty(t, writing, "%s holds beside a reader of ours", writer.name())
	require.NoError(t, ourReader.release())
	require.NoError(t, <-writing)

	theirs, ours := begin(theirReader), begin(ourReader)
	awaitContenders(t, s, path, 3)
	require.NoError(t, s.Sync(t.Context(), path))
	require.Empty(t, theirs, "a reader of theirs holds beside %s", writer.name())
	require.Empty(t, ours, "a reader of ours holds beside %s", writer.name())
	require.NoError(t, writer.release())
	require.NoError(t, <-theirs)
	require.NoError(t, <-ours)
	require.NoError(t, theirReader.release())
	require.NoError(t, ourReader.release())
}

// A lock that is one plain znode excludes all clients that create that znode: until they delete it,
// or their session ends. (The drivers' requests create and delete are in testdata/java/Plain.java.)
func TestSimpleLockIsAnyonesZnode(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, map[string]maker{
		"java":    {driver: javaDriver, client: "zookeeper"},
		"curator": {driver: javaDriver, client: "curator"},
		"kazoo":   {driver: kazooDriver, client: "kazoo"},
		"c":       {driver: cDriver, client: "c"},
	}, func(t *testing.T, s *session.Session, address, path string, m maker) {
		us, them := ourLock(t, alone, lock.New, address, path, lock.Simple), m.open(t, address)
		create := func() error { return them.ask(them.session, "create", path, "them", "e") } // ephemeral, with the data "them"
		remove := func() error { return them.ask(them.session, "delete", path, "-1") }        // whatever its version

		require.NoError(t, create())
		waiting := begin(us)
		_, err := us.lock.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrHeld)
		require.NoError(t, remove())
		require.NoError(t, <-waiting)
		require.Error(t, create(), "ours holds")
		require.NoError(t, us.release())

		require.NoError(t, create())
		waiting = begin(us)
		require.NoError(t, them.end())
		require.NoError(t, <-waiting)
		require.NoError(t, us.release())
		_, exists, err := s.Exists(t.Context(), path)
		require.NoError(t, err)
		require.False(t, exists)
	})
}
