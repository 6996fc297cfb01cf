package txlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// ReplayTo calls each with every record up to the end of a log that is full: what a snapshot is
// made of.
func (s *Store) ReplayTo(upTo uint64, each func(record []byte) error) error {
	_, err := s.replay(upTo, each)
	return err
}

// pieceSize is how large a snapshot's frames become.
const pieceSize = 1 << 20

// Last is the last log that Replay has found, for a snapshot before Start; 0 if there is none.
func (s *Store) Last() uint64 { return s.generation }

// Snapshot writes a snapshot that takes the place of everything up to the end of a log. fill calls
// put with each record, of which none is empty. The files that it makes superfluous go.
func (s *Store) Snapshot(upTo uint64, fill func(put func(record []byte) error) error) error {
	name := s.name(kindSnapshot, upTo+1)
	f, err := os.OpenFile(name+unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	size, err := writeAll(f, s.limits.record, fill)
	if err = errors.Join(err, s.sync(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := errors.Join(os.Rename(f.Name(), name), syncFolder(s.dir)); err != nil {
		return err
	}
	s.snapshots.Store(size)
	return s.prune(upTo)
}

func writeAll(f *os.File, most int, fill func(put func(record []byte) error) error) (int64, error) {
	header, salt := newHeader()
	if _, err := f.Write(header); err != nil {
		return 0, err
	}
	at := int64(len(header))
	var piece []byte
	write := func() error {
		head := appendHead(nil, salt, at, piece)
		if _, err := f.Write(head); err != nil {
			return err
		}
		_, err := f.Write(piece)
		at += frameHead + int64(len(piece))
		piece = piece[:0]
		return err
	}
	err := fill(func(record []byte) error {
		if len(record) > most {
			return fmt.Errorf("%w: %d bytes", ErrRecord, len(record))
		}
		piece = binary.BigEndian.AppendUint32(piece, uint32(len(record)))
		piece = append(piece, record...)
		if len(piece) < pieceSize {
			return nil
		}
		return write()
	})
	if err == nil {
		piece = append(piece, 0, 0, 0, 0) // an empty record is the end
		err = write()
	}
	return at, err
}

// prune removes what a snapshot has made superfluous.
func (s *Store) prune(upTo uint64) error {
	var all error
	for kind, last := range map[string]uint64{kindLog: upTo, kindSnapshot: upTo} {
		numbers, err := s.generations(kind)
		all = errors.Join(all, err)
		for _, n := range numbers {
			if n <= last {
				all = errors.Join(all, os.Remove(s.name(kind, n)))
			}
		}
	}
	return all
}
