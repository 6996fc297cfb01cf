package txlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Errors of a store.
var (
	ErrInUse  = errors.New("txlog: another process uses the folder")
	ErrClosed = errors.New("txlog: closed")
	ErrRecord = errors.New("txlog: a record is too large to be written")
)

// Store is a folder that this process has for itself. The order of its life is Open, Replay, Start,
// then Append and Wait, from any goroutine, and Close.
type Store struct {
	dir     string
	lock    *os.File
	sync    func(*os.File) error
	create  func(name string) (*os.File, error) // makes a log
	limits  limits
	rotate  int64                   // the size at which another log is begun
	compact func(upTo uint64) error // makes a snapshot of everything up to the end of a log
	report  func(error)             // told of what went wrong with it

	mu        sync.Mutex
	changed   sync.Cond // written, failed or closed
	buf       []byte    // records that are not yet written
	spare     []byte
	collected uint64 // records that ever were appended
	written   uint64 // those that are on the disk
	err       error
	closed    bool
	failed    chan struct{}
	work      sync.WaitGroup

	// Of the writing goroutine alone, once there is one.
	file       *os.File
	salt       []byte
	size       int64
	older      int64 // the size of the logs before this one that are in no snapshot
	retry      int64 // the size at which to begin another log is tried again
	generation uint64
	compacting chan struct{} // closed when the snapshot under way is made

	snapshots atomic.Int64 // the size of the last one
}

// Open makes the folder if there is none, and locks it. report, if not nil, is told of what stops
// nothing: that a torn end is cut off, that a snapshot could not be made, that another log could
// not be begun yet.
func Open(dir string, report func(error)) (*Store, error) {
	if report == nil {
		report = func(error) {}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := tryLock(lock)
	if err == nil && !free {
		err = fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Store{
		dir: dir, lock: lock, sync: (*os.File).Sync, create: create, failed: make(chan struct{}), report: report,
		limits: limits{frame: 64 << 20, record: 1 << 30},
	}
	s.changed.L = &s.mu
	return s, nil
}

// limits keep lengths within what 32 bits can say.
type limits struct {
	frame  int // beyond which a frame gets no further record
	record int // beyond which one is refused
}

const (
	kindLog      = "log"
	kindSnapshot = "snapshot"
	unfinished   = ".new"
)

func (s *Store) name(kind string, generation uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s.%016x", kind, generation))
}

// generations are the numbers of the files of a kind, sorted.
func (s *Store) generations(kind string) ([]uint64, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var all []uint64
	for _, e := range entries {
		text, found := strings.CutPrefix(e.Name(), kind+".")
		if n, err := strconv.ParseUint(text, 16, 64); found && err == nil && len(text) == 16 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Replay calls each with every record that there is, the snapshot's first, and cuts off what nobody
// has waited for. found is false in an empty folder. It is called once, before Start.
func (s *Store) Replay(each func(record []byte) error) (found bool, err error) {
	logs, err := s.generations(kindLog)
	if err = errors.Join(err, s.sweep()); err != nil {
		return false, err
	}
	snapshots, err := s.generations(kindSnapshot)
	if err != nil {
		return false, err
	}
	if len(snapshots) > 0 {
		s.generation = snapshots[len(snapshots)-1] - 1
	}
	if len(logs) > 0 && logs[len(logs)-1] > s.generation {
		s.generation = logs[len(logs)-1]
		if err := s.cut(s.generation); err != nil {
			return false, err
		}
	}
	if found, err = s.replay(s.generation, each); err == nil {
		err = s.measure()
	}
	return found, err
}

// measure finds out how large the last snapshot is, and what is in none.
func (s *Store) measure() error {
	snapshots, err := s.generations(kindSnapshot)
	if err != nil {
		return err
	}
	logs, err := s.generations(kindLog)
	if err != nil {
		return err
	}
	from := uint64(0)
	if len(snapshots) > 0 {
		from = snapshots[len(snapshots)-1]
		info, err := os.Stat(s.name(kindSnapshot, from))
		if err != nil {
			return err
		}
		s.snapshots.Store(info.Size())
	}
	for _, n := range logs {
		info, err := os.Stat(s.name(kindLog, n))
		if err != nil {
			return err
		}
		if n >= from {
			s.older += info.Size()
		}
	}
	return nil
}

// sweep removes snapshots that were never finished.
func (s *Store) sweep() error {
	left, err := filepath.Glob(filepath.Join(s.dir, kindSnapshot+".*"+unfinished))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// replay reads the newest snapshot and the logs behind it, to the end of one of them.
func (s *Store) replay(upTo uint64, each func(record []byte) error) (found bool, err error) {
	snapshots, err := s.generations(kindSnapshot)
	if err != nil {
		return false, err
	}
	logs, err := s.generations(kindLog)
	if err != nil {
		return false, err
	}
	from := uint64(1)
	if len(snapshots) > 0 {
		from = snapshots[len(snapshots)-1]
		ended := false
		err := s.read(s.name(kindSnapshot, from), func(record []byte) error {
			if ended = len(record) == 0; ended {
				return nil
			}
			return each(record)
		})
		if err == nil && !ended {
			err = &DamageError{File: s.name(kindSnapshot, from)}
		}
		if err != nil {
			return false, err
		}
		found = true
	}
	for _, n := range logs {
		if n < from || n > upTo {
			continue
		}
		if n != from {
			return false, fmt.Errorf("txlog: %s is missing", s.name(kindLog, from))
		}
		if err := s.read(s.name(kindLog, n), each); err != nil {
			return false, err
		}
		from, found = n+1, true
	}
	return found, nil
}

// read reads a file that must be whole.
func (s *Store) read(name string, each func(record []byte) error) error {
	f, err := open(name)
	if err != nil {
		return err
	}
	defer f.f.Close() //nolint:errcheck // it was only read
	end, err := f.frames(func(content []byte) error { return records(content, each) })
	if errors.Is(err, errBadFrame) {
		return &DamageError{name, end}
	}
	if err != nil {
		return fmt.Errorf("txlog: %s, at byte %d: %w", name, end, err)
	}
	return nil
}

// cut cuts off the end of the last log, as far as it was never whole.
func (s *Store) cut(generation uint64) error {
	name := s.name(kindLog, generation)
	f, err := open(name)
	if err != nil {
		return err
	}
	defer f.f.Close() //nolint:errcheck // it was only read
	end, err := f.frames(func([]byte) error { return nil })
	if err == nil {
		return s.settle(name, end) // the process that wrote it may have ended before its fsync
	}
	if !errors.Is(err, errBadFrame) {
		return err
	}
	if damaged, err := f.goodBehind(end); damaged || err != nil {
		return errors.Join(err, &DamageError{name, end})
	}
	s.report(fmt.Errorf("txlog: %s: %d bytes that were never confirmed are cut off", name, f.size-end))
	if f.salt == nil { // not even its header: as if it had not been begun
		s.generation--
		return errors.Join(os.Remove(name), syncFolder(s.dir))
	}
	return s.settle(name, end)
}

// settle brings a log of a size to the disk.
func (s *Store) settle(name string, size int64) error {
	w, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(w.Truncate(size), s.sync(w), w.Close())
}
