package txlog

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

const (
	magic      = "troupe\x00\x01"
	fileHeader = len(magic) + saltSize + 4
	saltSize   = 8
	frameHead  = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errBadFrame is what isn't a frame: torn, or damaged.
var errBadFrame = errors.New("txlog: not a frame")

// newHeader begins a file.
func newHeader() (header, salt []byte) {
	salt = make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	header = append([]byte(magic), salt...)
	return binary.BigEndian.AppendUint32(header, sum(nil, 0, header)), salt
}

// sum is a checksum of b at a place in a file.
func sum(salt []byte, at int64, b []byte) uint32 {
	place := binary.BigEndian.AppendUint64(append(make([]byte, 0, saltSize+8), salt...), uint64(at))
	return crc32.Update(crc32.Checksum(place, castagnoli), castagnoli, b)
}

// appendHead writes the head of a frame whose content follows.
func appendHead(b, salt []byte, at int64, content []byte) []byte {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	b = append(b, length...)
	b = binary.BigEndian.AppendUint32(b, sum(salt, at, length))
	return binary.BigEndian.AppendUint32(b, sum(salt, at, content))
}

// lengthOf reads a head; false if it is none, or says more than there is.
func lengthOf(head, salt []byte, at, size int64) (int64, bool) {
	if binary.BigEndian.Uint32(head[4:]) != sum(salt, at, head[:4]) {
		return 0, false
	}
	length := int64(binary.BigEndian.Uint32(head))
	return length, at+frameHead+length <= size
}

// file is one that is read.
type file struct {
	name string
	f    *os.File
	size int64
	salt []byte
}

// open reads the header. A file that was never finished to be made is empty: without an error, and
// without a salt.
func open(name string) (*file, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	header := make([]byte, fileHeader)
	r := &file{name: name, f: f, size: info.Size()}
	if r.size < int64(fileHeader) {
		return r, nil
	}
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	named := header[:len(magic)+saltSize]
	switch {
	case r.size == int64(fileHeader) && string(header) == string(make([]byte, fileHeader)): // the system has made room for it, no more
	case string(header[:len(magic)]) != magic || binary.BigEndian.Uint32(header[len(named):]) != sum(nil, 0, named):
		return nil, errors.Join(&DamageError{File: name}, f.Close())
	default:
		r.salt = named[len(magic):]
	}
	return r, nil
}

// frames calls each with the content of every frame, good until it returns, and reports where the
// good ones end. errBadFrame is their end if something else follows.
func (r *file) frames(each func(content []byte) error) (end int64, err error) {
	if r.salt == nil {
		return 0, errBadFrame
	}
	in := bufio.NewReaderSize(r.f, 64<<10)
	end = int64(fileHeader)
	head := make([]byte, frameHead)
	var content []byte
	for end < r.size {
		if r.size-end < frameHead {
			return end, errBadFrame
		}
		if _, err := io.ReadFull(in, head); err != nil {
			return end, err
		}
		length, ok := lengthOf(head, r.salt, end, r.size)
		if !ok {
			return end, errBadFrame
		}
		if int64(cap(content)) < length {
			content = make([]byte, length) // there is as much in the file
		}
		content = content[:length]
		if _, err := io.ReadFull(in, content); err != nil {
			return end, err
		}
		if sum(r.salt, end, content) != binary.BigEndian.Uint32(head[8:]) {
			return end, errBadFrame
		}
		if err := each(content); err != nil {
			return end, err
		}
		end += frameHead + length
	}
	return end, nil
}

// goodBehind looks for a frame behind a bad one: there is none if the bad one was the last to be
// written.
func (r *file) goodBehind(bad int64) (bool, error) {
	if r.salt == nil {
		return false, nil
	}
	rest := make([]byte, r.size-bad)
	if _, err := r.f.ReadAt(rest, bad); err != nil {
		return false, err
	}
	for i := int64(1); i+frameHead <= int64(len(rest)); i++ {
		length, ok := lengthOf(rest[i:i+frameHead], r.salt, bad+i, r.size)
		if !ok {
			continue
		}
		content := rest[i+frameHead:][:length]
		if sum(r.salt, bad+i, content) == binary.BigEndian.Uint32(rest[i+8:]) {
			return true, nil
		}
	}
	return false, nil
}

// DamageError says that a file is not as it was written.
type DamageError struct {
	File   string
	Offset int64
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("txlog: %s is damaged at byte %d", e.File, e.Offset)
}

// records calls each with every record of a frame's content.
func records(content []byte, each func(record []byte) error) error {
	for len(content) > 0 {
		if len(content) < 4 {
			return errBadRecord
		}
		length := int64(binary.BigEndian.Uint32(content))
		if length > int64(len(content)-4) {
			return errBadRecord
		}
		if err := each(content[4 : 4+length]); err != nil {
			return err
		}
		content = content[4+length:]
	}
	return nil
}

var errBadRecord = errors.New("txlog: a record is longer than its frame")
