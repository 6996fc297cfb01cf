package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
)

var (
	kazooRead  = maker{driver: kazooDriver, client: "kazoo", recipe: "read-beside", wants: together}
	kazooWrite = maker{driver: kazooDriver, client: "kazoo", recipe: "write-beside"}
	writelock  = maker{driver: javaDriver, client: "zookeeper", recipe: "writelock"}
)

// Readers and writers of ours with theirs, for a while.
func TestSharedLocksTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, map[string]func(t *testing.T, path string) []contender{
			// A reader of kazoo's waits for writers behind it too (its issue 649), which wait for it: it gives up soon.
			"kazoo": func(t *testing.T, path string) []contender {
				return []contender{kazooWrite.make(t, address, path), impatient{kazooRead.make(t, address, path)}}
			},
			"writelock": func(t *testing.T, path string) []contender {
				return []contender{writelock.make(t, address, path), writelock.make(t, address, path)}
			},
		}, func(t *testing.T, theirs func(t *testing.T, path string) []contender) {
			path := pathFor(t)
			contend(t, s, path, 15, append(theirs(t, path),
				ourLock(t, together, lock.NewRead, address, path),
				ourLock(t, together, lock.NewRead, address, path),
				ourLock(t, alone, lock.NewWrite, address, path))...)
		})
	})
}

// Readers of both hold together; a writer waits for all of them, and they for a writer.
func TestReadersHoldTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, address string) {
		s, path := open(t, address), pathFor(t)
		ourReader, theirReader := ourLock(t, together, lock.NewRead, address, path), kazooRead.make(t, address, path)
		ourWriter, theirWriter := ourLock(t, alone, lock.NewWrite, address, path), kazooWrite.make(t, address, path)
		for _, writer := range []contender{ourWriter, theirWriter} {
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
			require.Empty(t, theirs, "kazoo's reader holds beside %s", writer.name())
			require.Empty(t, ours, "a reader of ours holds beside %s", writer.name())
			require.NoError(t, writer.release())
			require.NoError(t, (<-theirs).err)
			require.NoError(t, (<-ours).err)
			require.NoError(t, theirReader.release())
			require.NoError(t, ourReader.release())
		}
		empty(t, s, path)
	})
}
