package zkserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

var errFrameLength = errors.New("frame length out of range")

// frames cuts what a client sends into frames. A frame's memory grows with what has really arrived,
// so a mere claim of a length costs nothing.
type frames struct {
	r    *bufio.Reader
	max  int
	buf  []byte
	size int // of the last frame
}

func newFrames(r io.Reader, limit int) frames {
	return frames{r: bufio.NewReaderSize(r, readBuffer), max: limit}
}

const (
	readBuffer = 4 << 10
	growStep   = 16 << 10
)

// word reads the first four bytes of a connection, which may be a four-letter word instead of a
// length.
func (f *frames) word() (uint32, error) {
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(head[:]), nil
}

// next reads a frame; it is good until the next call.
func (f *frames) next() ([]byte, error) {
	n, err := f.word()
	if err != nil {
		return nil, err
	}
	return f.body(n)
}

func (f *frames) body(length uint32) ([]byte, error) {
	n := int(int32(length))
	f.size = n
	if n < 0 || n > f.max {
		return nil, errFrameLength
	}
	if cap(f.buf) > growStep && n <= growStep { // a large buffer is not kept for small frames
		f.buf = nil
	}
	f.buf = f.buf[:0]
	for len(f.buf) < n {
		have := len(f.buf)
		step := min(n-have, max(growStep, have))
		f.buf = append(f.buf, make([]byte, step)...)
		if _, err := io.ReadFull(f.r, f.buf[have:]); err != nil {
			return nil, err
		}
	}
	return f.buf, nil
}

// ready reports whether the next frame is here already, so that reading it doesn't wait.
func (f *frames) ready() bool {
	have := f.r.Buffered()
	if have < 4 {
		return false
	}
	head, err := f.r.Peek(4)
	return err == nil && have-4 >= int(int32(binary.BigEndian.Uint32(head)))
}
