package txlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/zkserver/txlog"
)

func opened(t testing.TB, dir string) *txlog.Store {
	t.Helper()
	s, err := txlog.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func replayed(t testing.TB, s *txlog.Store) []string {
	t.Helper()
	var all []string
	found, err := s.Replay(func(record []byte) error {
		all = append(all, string(record))
		return nil
	})
	require.NoError(t, err)
	require.True(t, found || len(all) == 0)
	return all
}

func put(t testing.TB, s *txlog.Store, record string) {
	t.Helper()
	s.Append(func(b []byte) []byte { return append(b, record...) })
	require.NoError(t, s.Wait(s.Position()))
}

func TestWhatWasWaitedForIsThereAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	for life := range 4 {
		s := opened(t, dir)
		require.Equal(t, want, replayed(t, s))
		require.NoError(t, s.Start(txlog.Options{}))
		for i := range 5 {
			want = append(want, fmt.Sprint(life, " ", i, strings.Repeat("x", i*1000)))
			put(t, s, want[len(want)-1])
		}
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		s.Append(func(b []byte) []byte { return append(b, "late"...) })
		require.ErrorIs(t, s.Wait(s.Position()), txlog.ErrClosed)
	}
}

func TestOneProcessHasTheFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	s := opened(t, dir)
	_, err := txlog.Open(dir, nil)
	require.ErrorIs(t, err, txlog.ErrInUse)
	require.ErrorContains(t, err, dir)
	require.NoError(t, s.Close())
	opened(t, dir)
}

// A snapshot takes the place of what is full, again and again, while others append; the folder
// stays small and nothing is lost.
func TestSnapshotsTakeThePlaceOfFullLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	made := 0
	require.NoError(t, s.Start(txlog.Options{Rotate: 1 << 10, Compact: func(upTo uint64) error {
		last := "" // all that the state is: the last record
		if err := s.ReplayTo(upTo, func(record []byte) error { last = string(record); return nil }); err != nil {
			return err
		}
		made++
		return s.Snapshot(upTo, func(put func([]byte) error) error { return put([]byte(last)) })
	}}))
	for i := range 2000 {
		put(t, s, fmt.Sprint(i))
	}
	require.NoError(t, s.Close())
	require.Greater(t, made, 1)
	again := opened(t, dir)
	all := replayed(t, again)
	require.Equal(t, "1999", all[len(all)-1])
	first := 0
	_, err := fmt.Sscan(all[0], &first)
	require.NoError(t, err)
	for i, record := range all {
		require.Equal(t, fmt.Sprint(first+i), record)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.LessOrEqual(t, len(files), 4, "lock, snapshot, at most two logs")
}

// copied is a copy of a folder, with a file as it is told.
func copied(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	require.NoError(t, os.WriteFile(filepath.Join(to, name), content, 0o600))
	return to
}

// The last log ends anywhere, as after a crash: what was waited for by then is there, and nothing
// else; and the next process can go on.
func TestATornEndIsCutOffWhereverItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	require.NoError(t, s.Start(txlog.Options{}))
	name := "log.0000000000000001"
	records, ends := []string{"first", "", "a third, which is longer"}, []int64{20}
	for _, record := range records {
		put(t, s, record)
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		ends = append(ends, info.Size())
	}
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	for size := range len(whole) + 1 {
		for _, filling := range [][]byte{nil, make([]byte, len(whole)-size), bytes.Repeat([]byte{0xff}, len(whole)-size)} { // what a file system may leave
			if size < 20 && len(filling) > 0 && size+len(filling) > 0 && !(size == 0 && filling[0] == 0) {
				continue // a header that is none: that is damage, below
			}
			if size == 0 {
				filling = filling[:min(len(filling), 20)] // the header is on the disk before anything behind it is written
			}
			torn := copied(t, dir, name, append(slices.Clone(whole[:size]), filling...))
			s := opened(t, torn)
			want := 0
			for want < len(records) && ends[want+1] <= int64(size) {
				want++
			}
			got := replayed(t, s)
			for want < len(records) && size > 0 && len(filling) > 0 && bytes.Equal(append(slices.Clone(whole[:size]), filling...)[:ends[want+1]], whole[:ends[want+1]]) {
				want++ // the filling happens to be what was there
			}
			require.Equal(t, records[:want], append([]string{}, got...), size)
			require.NoError(t, s.Start(txlog.Options{}))
			put(t, s, "more")
			require.NoError(t, s.Close())
			s = opened(t, torn)
			require.Equal(t, append(slices.Clone(records[:len(got)]), "more"), replayed(t, s))
			require.NoError(t, s.Close())
		}
	}
}

// Every bit counts: a change in the last frame looks like a torn end, any other is damage, and
// named.
func TestDamageIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	require.NoError(t, s.Snapshot(s.Last(), func(put func([]byte) error) error { return put([]byte("zeroth")) }))
	require.NoError(t, s.Start(txlog.Options{}))
	name := "log.0000000000000001"
	put(t, s, "first")
	info, err := os.Stat(filepath.Join(dir, name))
	require.NoError(t, err)
	put(t, s, "second")
	require.NoError(t, s.Close())
	try := func(name string, at int) ([]string, error) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		b[at] ^= 1 << (at % 8)
		s := opened(t, copied(t, dir, name, b))
		defer s.Close()
		var all []string
		_, err = s.Replay(func(record []byte) error { all = append(all, string(record)); return nil })
		return all, err
	}
	size := func(name string) int {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return int(info.Size())
	}
	var damage *txlog.DamageError
	for at := range size(name) {
		all, err := try(name, at)
		switch {
		case at < int(info.Size()):
			require.ErrorAs(t, err, &damage, at)
			require.Equal(t, name, filepath.Base(damage.File))
		default:
			require.NoError(t, err)
			require.Equal(t, []string{"zeroth", "first"}, all)
		}
	}
	for at := range size("snapshot.0000000000000001") {
		_, err := try("snapshot.0000000000000001", at)
		require.ErrorAs(t, err, &damage, at)
	}
	b, err := os.ReadFile(filepath.Join(dir, "snapshot.0000000000000001"))
	require.NoError(t, err)
	for at := range b {
		s := opened(t, copied(t, dir, "snapshot.0000000000000001", b[:at]))
		_, err = s.Replay(func([]byte) error { return nil })
		require.ErrorAs(t, err, &damage)
		require.NoError(t, s.Close())
	}
}

// Nobody is told before the disk has it, and many share one fsync.
func TestWaitersShareAnFsyncAndAreNotToldBeforeIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := txlog.Open(dir, nil)
		require.NoError(t, err)
		_, err = s.Replay(func([]byte) error { return nil })
		require.NoError(t, err)
		require.NoError(t, s.Start(txlog.Options{}))
		calls, let := 0, make(chan struct{})
		s.SetSync(func(*os.File) error { calls++; <-let; return nil })
		var mu sync.Mutex
		told := 0
		for range 100 {
			s.Append(func(b []byte) []byte { return append(b, "x"...) })
			position := s.Position()
			go func() { // ends when the record is written
				if s.Wait(position) == nil {
					mu.Lock()
					defer mu.Unlock()
					told++
				}
			}()
		}
		count := func() int { mu.Lock(); defer mu.Unlock(); return told }
		synctest.Wait()
		require.Zero(t, count())
		let <- struct{}{}
		synctest.Wait()
		if calls == 2 { // the first frame had some of them
			require.Less(t, count(), 100)
			let <- struct{}{}
			synctest.Wait()
		}
		require.Equal(t, 100, count())
		require.LessOrEqual(t, calls, 2)
		require.NoError(t, s.Close())
	})
}

// After the disk's first error everybody is told, and nothing is written any more.
func TestADiskThatFailsEndsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	require.NoError(t, s.Start(txlog.Options{}))
	put(t, s, "good")
	full := errors.New("no space")
	s.SetSync(func(*os.File) error { return full })
	s.Append(func(b []byte) []byte { return append(b, "bad"...) })
	require.ErrorIs(t, s.Wait(s.Position()), full)
	<-s.Failed()
	require.ErrorIs(t, s.Err(), full)
	s.SetSync((*os.File).Sync)
	s.Append(func(b []byte) []byte { return append(b, "after"...) })
	require.ErrorIs(t, s.Wait(s.Position()), full)
	require.ErrorIs(t, s.Close(), full)
	require.Equal(t, []string{"good"}, replayed(t, opened(t, dir)), "what was not confirmed is taken back")
}

// What the last process wrote may never have been on the disk, even if it can be read: it is,
// before anything is built on it.
func TestTheLastLogIsOnTheDiskBeforeAnythingIsBuiltOnIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	require.NoError(t, s.Start(txlog.Options{}))
	put(t, s, "x")
	require.NoError(t, s.Close())
	s = opened(t, dir)
	var synced []string
	s.SetSync(func(f *os.File) error { synced = append(synced, filepath.Base(f.Name())); return nil })
	require.Equal(t, []string{"x"}, replayed(t, s))
	require.Equal(t, []string{"log.0000000000000001"}, synced)
	require.NoError(t, s.Close())
	s = opened(t, dir)
	bad := errors.New("no disk")
	s.SetSync(func(*os.File) error { return bad })
	_, err := s.Replay(func([]byte) error { return nil })
	require.ErrorIs(t, err, bad)
}

// A header of zeros is one that was never written, but only where nothing follows it.
func TestAHeaderOfZerosBeforeFramesIsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	require.NoError(t, s.Start(txlog.Options{}))
	put(t, s, "x")
	require.NoError(t, s.Close())
	name := "log.0000000000000001"
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	clear(b[:20])
	s = opened(t, copied(t, dir, name, b))
	_, err = s.Replay(func([]byte) error { return nil })
	var damage *txlog.DamageError
	require.ErrorAs(t, err, &damage)
}

// However much is collected while the disk is slow: no frame becomes longer than its head can say,
// and each holds whole records. A record that is too long is refused.
func TestLargeBatchesAreSeveralFrames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	replayed(t, s)
	s.SetLimits(64, 100)
	var want []string
	for i := range 5 {
		want = append(want, strings.Repeat(fmt.Sprint(i), 28))
	}
	want = append(want, strings.Repeat("x", 100), "last")
	for _, record := range want {
		s.Append(func(b []byte) []byte { return append(b, record...) })
	}
	syncs := 0
	s.SetSync(func(*os.File) error { syncs++; return nil })
	require.NoError(t, s.Start(txlog.Options{}))
	require.NoError(t, s.Wait(s.Position()))
	require.Equal(t, 1+5, syncs, "the header; two records, two, one, a large one, and the last, in the order of their syncs")
	s.Append(func(b []byte) []byte { return append(b, make([]byte, 101)...) })
	require.ErrorIs(t, s.Wait(s.Position()), txlog.ErrRecord)
	require.ErrorIs(t, s.Close(), txlog.ErrRecord)
	s = opened(t, dir)
	require.Equal(t, want, replayed(t, s))
	s.SetLimits(64, 100)
	require.ErrorIs(t, s.Snapshot(1, func(put func([]byte) error) error { return put(make([]byte, 101)) }), txlog.ErrRecord)
}

// A process with too many files open goes on in the log that it has, and begins another one when it
// can.
func TestALogGrowsOnWhileNoOtherCanBeBegun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var told []error
	s, err := txlog.Open(dir, func(err error) { told = append(told, err) })
	require.NoError(t, err)
	replayed(t, s)
	full := make(chan uint64, 1)
	require.NoError(t, s.Start(txlog.Options{Rotate: 160, Compact: func(upTo uint64) error { full <- upTo; return nil }}))
	s.SetCreate(func(string) (*os.File, error) { return nil, &os.PathError{Op: "open", Err: syscall.EMFILE} })
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("%2d", i))
		put(t, s, want[i])
	}
	require.Empty(t, full)
	require.NoError(t, s.Close())
	require.Len(t, told, 12, "not at every write")
	require.ErrorIs(t, told[0], syscall.EMFILE)
	s = opened(t, dir)
	require.Equal(t, want, replayed(t, s))
	require.NoError(t, s.Start(txlog.Options{Rotate: 160, Compact: func(upTo uint64) error { full <- upTo; return nil }}))
	put(t, s, "more")
	require.EqualValues(t, 1, (<-full)-1, "and begins another when it can")
}

// What every process leaves is little, but not what all of them leave.
func TestAProcessThatIsOftenRestartedMakesSnapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := 0
	for life := range 50 {
		s := opened(t, dir)
		replayed(t, s)
		require.NoError(t, s.Start(txlog.Options{Rotate: 1 << 10, Compact: func(upTo uint64) error {
			made++
			return s.Snapshot(upTo, func(put func([]byte) error) error { return put([]byte("state")) })
		}}))
		put(t, s, fmt.Sprint(life, strings.Repeat("x", 70)))
		require.NoError(t, s.Close())
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.LessOrEqual(t, len(files), 14)
	}
	require.GreaterOrEqual(t, made, 4)
	require.LessOrEqual(t, made, 6)
}

// What is cut off is told, although the store has not been started yet.
func TestATornEndIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.0000000000000001"), make([]byte, 7), 0o600))
	var told []error
	s, err := txlog.Open(dir, func(err error) { told = append(told, err) })
	require.NoError(t, err)
	replayed(t, s)
	require.Len(t, told, 1)
	require.ErrorContains(t, told[0], "7 bytes")
	require.NoError(t, s.Close())
}

func TestAMissingLogIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		s := opened(t, dir)
		replayed(t, s)
		require.NoError(t, s.Start(txlog.Options{}))
		put(t, s, "x")
		require.NoError(t, s.Close())
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "log.0000000000000002")))
	_, err := opened(t, dir).Replay(func([]byte) error { return nil })
	require.ErrorContains(t, err, "log.0000000000000002 is missing")
}

// Whatever the files hold: no panic, no more memory than they are large, and what can be read can
// be gone on with.
func FuzzReplay(f *testing.F) {
	dir := f.TempDir()
	s := opened(f, dir)
	replayed(f, s)
	require.NoError(f, s.Snapshot(0, func(put func([]byte) error) error { return put([]byte("snapshot")) }))
	require.NoError(f, s.Start(txlog.Options{}))
	put(f, s, "one")
	put(f, s, "two")
	require.NoError(f, s.Close())
	log, err := os.ReadFile(filepath.Join(dir, "log.0000000000000001"))
	require.NoError(f, err)
	snapshot, err := os.ReadFile(filepath.Join(dir, "snapshot.0000000000000001"))
	require.NoError(f, err)
	f.Add(log, snapshot)
	f.Add(log, []byte{})
	f.Add(append(slices.Clone(log), log[20:]...), snapshot)
	f.Add(append(slices.Clone(log), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0), snapshot)
	f.Fuzz(func(t *testing.T, log, snapshot []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "log.0000000000000001"), log, 0o600))
		if len(snapshot) > 0 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot.0000000000000001"), snapshot, 0o600))
		}
		s := opened(t, dir)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read := 0
		_, err := s.Replay(func(record []byte) error { read += len(record); return nil })
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+8*(len(log)+len(snapshot))))
		require.LessOrEqual(t, read, len(log)+len(snapshot))
		if err == nil {
			require.NoError(t, s.Start(txlog.Options{}))
			put(t, s, "more")
		}
		require.NoError(t, s.Close())
	})
}
