package txlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Options of [Store.Start].
type Options struct {
	// Rotate is the size of the logs at which another one is begun, and a snapshot made. They grow
	// to the size of the last snapshot at least, so that the work of making snapshots stays in
	// proportion.
	Rotate int64
	// Compact makes a snapshot of everything up to the end of a log, with [Store.ReplayTo] and
	// [Store.Snapshot]. It runs beside everything else, one at a time; Close waits for it.
	Compact func(upTo uint64) error
}

// Start begins a new log, in which Append collects.
func (s *Store) Start(o Options) error {
	s.rotate, s.compact = o.Rotate, o.Compact
	if err := s.begin(); err != nil {
		return err
	}
	s.compacting = make(chan struct{})
	close(s.compacting)
	// The store owns this goroutine; it ends with Close, or with the disk's first error.
	s.work.Go(s.write)
	return nil
}

// begin begins the next log.
func (s *Store) begin() error {
	f, err := s.create(s.name(kindLog, s.generation+1))
	if err != nil {
		return err
	}
	header, salt := newHeader()
	_, err = f.Write(header)
	if err = errors.Join(err, s.sync(f), syncFolder(s.dir)); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	s.generation++
	s.file, s.salt, s.size, s.retry = f, salt, int64(len(header)), 0
	return nil
}

func create(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// Append collects a record, which encode appends to a buffer. It never waits. Position tells what
// to wait for.
func (s *Store) Append(encode func(b []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.closed {
		s.collected++ // nobody will see it written
		return
	}
	at := len(s.buf)
	s.buf = encode(append(s.buf, 0, 0, 0, 0))
	s.collected++
	length := len(s.buf) - at - 4
	if length > s.limits.record {
		s.fail(fmt.Errorf("%w: %d bytes", ErrRecord, length))
		return
	}
	binary.BigEndian.PutUint32(s.buf[at:], uint32(length))
	s.changed.Broadcast()
}

// Position is after everything that has been appended so far.
func (s *Store) Position() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collected
}

// Wait returns when everything up to a position is on the disk, or never will be.
func (s *Store) Wait(position uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.written < position && s.err == nil {
		s.changed.Wait()
	}
	if s.written >= position {
		return nil
	}
	return s.err
}

// Failed is closed when the disk has failed: nothing is kept from then on. Err says why.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err is the disk's first error, or that the store is closed.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// write writes what is collected, until the store is closed.
func (s *Store) write() {
	for {
		batch, upTo, ok := s.take()
		if !ok {
			break
		}
		err := s.put(batch)
		s.mu.Lock()
		if err != nil {
			s.fail(err)
			s.mu.Unlock()
			break
		}
		s.written = upTo
		if cap(batch) <= 1<<20 {
			s.spare = batch[:0]
		}
		s.changed.Broadcast()
		s.mu.Unlock()
	}
	_ = s.file.Close() // all of it that counts was synced
}

// take waits for something to be written.
func (s *Store) take() (batch []byte, upTo uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 && !s.closed {
		s.changed.Wait()
	}
	batch, s.buf, s.spare = s.buf, s.spare, nil
	return batch, s.collected, len(batch) > 0
}

// put writes what is collected, and begins another log when this one is full.
func (s *Store) put(batch []byte) error {
	for len(batch) > 0 {
		n := s.frameOf(batch)
		if err := s.putFrame(batch[:n]); err != nil {
			// Nobody is told that it is there, so the next process had better not find it, in a
			// cache that the disk does not have. If this fails too, that process brings to the disk
			// what it finds.
			_ = s.file.Truncate(s.size)
			_ = s.sync(s.file)
			return err
		}
		batch = batch[n:]
	}
	if s.compact == nil || s.older+s.size < max(s.rotate, s.snapshots.Load()) || s.size < s.retry {
		return nil
	}
	select {
	case <-s.compacting:
	default: // the last one is still under way
		return nil
	}
	return s.turn()
}

// frameOf is how much of a batch comes into one frame: whole records, one at least.
func (s *Store) frameOf(batch []byte) (n int) {
	if len(batch) <= s.limits.frame {
		return len(batch)
	}
	for n < len(batch) {
		next := n + 4 + int(binary.BigEndian.Uint32(batch[n:]))
		if n > 0 && next > s.limits.frame {
			break
		}
		n = next
	}
	return n
}

// putFrame has a frame on the disk before the next one is begun: one that is torn is the last.
func (s *Store) putFrame(content []byte) error {
	head := appendHead(make([]byte, 0, frameHead), s.salt, s.size, content)
	if _, err := s.file.Write(head); err != nil {
		return err
	}
	if _, err := s.file.Write(content); err != nil {
		return err
	}
	if err := s.sync(s.file); err != nil {
		return err
	}
	s.size += frameHead + int64(len(content))
	return nil
}

// turn begins another log and has a snapshot take the place of those before it. If the process has
// too many files open for now, it goes on in this one.
func (s *Store) turn() error {
	full, old := s.generation, s.file
	if err := s.begin(); errors.Is(err, syscall.EMFILE) {
		s.report(fmt.Errorf("txlog: the log grows on: %w", err))
		s.retry = s.size + s.rotate/8
		return nil
	} else if err != nil {
		return err
	}
	s.older = 0
	if err := old.Close(); err != nil {
		return err
	}
	through := make(chan struct{})
	s.compacting = through
	// The store owns this goroutine; it ends when the snapshot is made. Close waits for it.
	s.work.Go(func() {
		defer close(through)
		if err := s.compact(full); err != nil {
			s.report(fmt.Errorf("txlog: no snapshot takes the place of the log yet: %w", err))
		}
	})
	return nil
}

// fail ends everything. The caller holds the lock.
func (s *Store) fail(err error) {
	if s.err == nil {
		s.err = err
		close(s.failed)
	}
	s.buf = nil
	s.changed.Broadcast()
}

// Close writes what was collected, and lets the folder go. It may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	if s.err == nil {
		s.err = ErrClosed
	}
	s.changed.Broadcast()
	return errors.Join(err, s.lock.Close())
}
