package interop_test

// Shared locks of Troupe's with those of other libraries, and locks that are one plain znode.

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
	reader, writer maker
	layout         lock.Layout
	hasty          bool // the reader gives up early, since it can get stuck
}

// A reader of kazoo's waits for writers behind it too (its issue 649), which wait for it.
// ZooKeeper's WriteLock is a writer among readers and writers of ours.
var sharings = map[string]sharing{
	"kazoo": {
		reader: maker{driver: kazooDriver, client: "kazoo", recipe: "read-beside", wants: together},
		writer: maker{driver: kazooDriver, client: "kazoo", recipe: "write-beside"},
		layout: lock.Troupe, hasty: true,
	},
	"kazoo in its own": {
		reader: maker{driver: kazooDriver, client: "kazoo", recipe: "read", wants: together},
		writer: maker{driver: kazooDriver, client: "kazoo", recipe: "write"},
		layout: lock.Kazoo, hasty: true,
	},
	"curator in its own": {
		reader: maker{driver: javaDriver, client: "curator", recipe: "read", wants: together},
		writer: maker{driver: javaDriver, client: "curator", recipe: "write"},
		layout: lock.Curator,
	},
	"writelock": {writer: maker{driver: javaDriver, client: "zookeeper", recipe: "writelock"}, layout: lock.Troupe},
}

func (p sharing) us(t *testing.T, wants side, address, path string) contender {
	t.Helper()
	if wants == alone {
		return ourLock(t, alone, lock.NewWrite, address, path, p.layout)
	}
	return ourLock(t, together, lock.NewRead, address, path, p.layout)
}

// them is a reader of theirs, or of ours where they have none.
func (p sharing) them(t *testing.T, address, path string) contender {
	t.Helper()
	if p.reader.recipe == "" {
		return p.us(t, together, address, path)
	}
	return p.reader.make(t, address, path)
}

// Readers and writers of ours with theirs, for a while; some give up waiting.
func TestNoWriterHoldsBesideAnother(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onEach(t, sharings, func(t *testing.T, s *session.Session, address, path string, p sharing) {
		reader := p.them(t, address, path)
		if p.hasty {
			reader = impatient{reader}
		}
		new(guard).contend(t, s, path, 15, reader, p.writer.make(t, address, path),
			p.us(t, together, address, path), p.us(t, together, address, path), p.us(t, alone, address, path))
	})
}

// Readers of both hold together; a writer waits for all of them, and they for a writer.
func TestReadersHoldTogether(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onEach(t, sharings, func(t *testing.T, s *session.Session, address, path string, p sharing) {
		theirReader, ourReader := p.them(t, address, path), p.us(t, together, address, path)
		for _, writer := range []contender{p.writer.make(t, address, path), p.us(t, alone, address, path)} {
			takeTurns(t, s, path, theirReader, ourReader, writer)
		}
		awaitContenders(t, s, path, 0)
	})
}

func takeTurns(t *testing.T, s *session.Session, path string, theirReader, ourReader, writer contender) {
	t.Helper()
	holds(t, theirReader)
	holds(t, ourReader)
	waiting := begin(writer)
	awaitContenders(t, s, path, 3)
	require.NoError(t, theirReader.release())
	awaitContenders(t, s, path, 2)
	require.NoError(t, s.Sync(t.Context(), path))
	require.Empty(t, waiting, "%s holds beside a reader of ours", writer.name())
	require.NoError(t, ourReader.release())
	require.NoError(t, <-waiting)

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

// A lock that is one plain znode excludes all clients that create that znode.
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
		create := func() error { return them.ask(them.session, "create", path, "them", "e") }

		require.NoError(t, create())
		waiting := begin(us)
		_, err := us.lock.TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrHeld)
		require.NoError(t, them.ask(them.session, "delete", path, "-1"))
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
