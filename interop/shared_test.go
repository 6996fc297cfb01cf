package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// sharing is a shared lock of theirs, and what ours has to be beside it.
type sharing struct {
	reader, writer maker
	layout         lock.Layout
	hasty          bool // the reader must not be waited for long
}

// A reader of kazoo's waits for writers behind it too (its issue 649), which wait for it.
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
}

func (p sharing) us(t *testing.T, wants side, address, path string) contender {
	t.Helper()
	if wants == alone {
		return ourLock(t, alone, lock.NewWrite, address, path, lock.WithLayout(p.layout))
	}
	return ourLock(t, together, lock.NewRead, address, path, lock.WithLayout(p.layout))
}

// Readers and writers of ours with theirs, for a while; some give up waiting.
func TestSharedLocksTogether(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, sharings, func(t *testing.T, p sharing) {
			path := pathFor(t)
			var reader contender = p.reader.make(t, address, path)
			if p.hasty {
				reader = impatient{reader}
			}
			contend(t, s, path, 15, reader, p.writer.make(t, address, path),
				p.us(t, together, address, path), p.us(t, together, address, path), p.us(t, alone, address, path))
		})
	})
}

// ZooKeeper's WriteLock is a writer among readers and writers of ours.
func TestWriteLockIsAWriter(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s, path, theirs := open(t, address), pathFor(t), exclusive["writelock"]
		contend(t, s, path, 15, theirs.them(t, address, path), theirs.them(t, address, path),
			ourLock(t, together, lock.NewRead, address, path),
			ourLock(t, together, lock.NewRead, address, path),
			ourLock(t, alone, lock.NewWrite, address, path))
	})
}

// Readers of both hold together; a writer waits for all of them, and they for a writer.
func TestReadersHoldTogether(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, sharings, func(t *testing.T, p sharing) {
			path := pathFor(t)
			theirReader, ourReader := p.reader.make(t, address, path), p.us(t, together, address, path)
			for _, writer := range []contender{p.writer.make(t, address, path), p.us(t, alone, address, path)} {
				takeTurns(t, s, path, theirReader, ourReader, writer)
			}
			empty(t, s, path)
		})
	})
}

func takeTurns(t *testing.T, s *session.Session, path string, theirReader, ourReader, writer contender) {
	t.Helper()
	holds(t, theirReader)
	holds(t, ourReader)
	waiting := begin(writer)
	inLine(t, s, path, 3)
	require.NoError(t, theirReader.release())
	inLine(t, s, path, 2)
	require.NoError(t, s.Sync(t.Context(), path))
	require.Empty(t, waiting, "%s holds beside a reader of ours", writer.name())
	require.NoError(t, ourReader.release())
	require.NoError(t, (<-waiting).err)

	theirs, ours := begin(theirReader), begin(ourReader)
	inLine(t, s, path, 3)
	require.NoError(t, s.Sync(t.Context(), path))
	require.Empty(t, theirs, "a reader of theirs holds beside %s", writer.name())
	require.Empty(t, ours, "a reader of ours holds beside %s", writer.name())
	require.NoError(t, writer.release())
	require.NoError(t, (<-theirs).err)
	require.NoError(t, (<-ours).err)
	require.NoError(t, theirReader.release())
	require.NoError(t, ourReader.release())
}
