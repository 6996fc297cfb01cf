package jute

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// ErrShort means that a frame ended before the value it announces, ErrLength that it announces an
// absurd length.
var (
	ErrShort  = errors.New("jute: frame ends too early")
	ErrLength = errors.New("jute: unreasonable length")
)

// Reader takes values off the front of a frame. The first error sticks; from then on every value is
// zero.
type Reader struct {
	rest []byte
	err  error
}

// Null stands for a string that is null on the wire. It isn't UTF-8, so nothing else reads as it.
const Null = "\xff"

// NewReader reads the body of one frame. Strings and buffers that it returns are copies: the frame
// may be used again.
func NewReader(frame []byte) *Reader { return &Reader{rest: frame} }

// Reset begins with another frame.
func (r *Reader) Reset(frame []byte) { *r = Reader{rest: frame} }

// Err is the first error met.
func (r *Reader) Err() error { return r.err }

// Len is how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *Reader) take(n int) []byte {
	if n > len(r.rest) {
		r.fail(ErrShort)
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Bool reads one byte; everything but 0 is true.
func (r *Reader) Bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// Int reads four bytes.
func (r *Reader) Int() int32 {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// Long reads eight bytes.
func (r *Reader) Long() int64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// bytes reads a length and that many bytes of the frame itself; ok is false for null and after an
// error.
func (r *Reader) bytes() (b []byte, ok bool) {
	n := r.Int()
	if r.err != nil || n == -1 {
		return nil, false
	}
	if n < 0 {
		r.fail(ErrLength)
		return nil, false
	}
	b = r.take(int(n))
	return b, r.err == nil
}

// Buffer reads a byte buffer: nil if it is null.
func (r *Reader) Buffer() []byte {
	b, ok := r.bytes()
	if !ok {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// Text reads a string. As in the real server, what isn't UTF-8 is replaced and no error.
func (r *Reader) Text() string {
	b, ok := r.bytes()
	if !ok {
		if r.err == nil {
			return Null
		}
		return ""
	}
	return Text(b)
}

// Text is the string that Java makes of bytes: what isn't UTF-8 is replaced.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return replaceInvalid(b)
}

// replaceInvalid puts one U+FFFD where Java does: for each longest start of a character that
// doesn't go on as one, and for a surrogate of three bytes.
func replaceInvalid(b []byte) string {
	out := make([]rune, 0, len(b))
	for len(b) > 0 {
		c, size := utf8.DecodeRune(b)
		if c == utf8.RuneError && size == 1 {
			size = brokenLength(b)
		}
		out = append(out, c)
		b = b[size:]
	}
	return string(out)
}

// brokenLength is how many bytes one U+FFFD replaces, by table 3-7 of the Unicode standard.
func brokenLength(b []byte) int {
	if len(b) >= 3 && b[0] == 0xed && b[1]&0xc0 == 0x80 && b[2]&0xc0 == 0x80 { // a surrogate
		return 3
	}
	want, least, most := 0, byte(0x80), byte(0xbf) // how many bytes belong behind the first one; the range of the next
	switch {
	case b[0] >= 0xc2 && b[0] <= 0xdf:
		want = 1
	case b[0] >= 0xe0 && b[0] <= 0xef:
		want = 2
		if b[0] == 0xe0 {
			least = 0xa0
		}
	case b[0] >= 0xf0 && b[0] <= 0xf4:
		want = 3
		switch b[0] {
		case 0xf0:
			least = 0x90
		case 0xf4:
			most = 0x8f
		}
	}
	size := 1
	for size <= want && size < len(b) && b[size] >= least && b[size] <= most {
		size++
		least, most = 0x80, 0xbf
	}
	return size
}

// Count reads the length of a vector whose elements take at least least bytes each: so an absurd
// count fails before anything is allocated. null is -1; other negative counts are 0, as they are to
// the real server.
func (r *Reader) Count(least int) int {
	n := int(r.Int())
	switch {
	case r.err == nil && n == -1:
		return -1
	case r.err != nil || n <= 0:
		return 0
	case n > len(r.rest)/least:
		r.fail(ErrShort)
		return 0
	}
	return n
}

// Texts reads a vector of strings: nil if it is null.
func (r *Reader) Texts() []string {
	n := r.Count(4)
	if n < 0 || r.err != nil {
		return nil
	}
	rest := *r // read ahead, to find where the vector ends
	for range n {
		_, _ = rest.bytes()
	}
	whole := string(r.rest[:len(r.rest)-len(rest.rest)]) // one copy that the strings are parts of
	size := len(r.rest)
	all := make([]string, 0, n)
	for range n {
		before := *r
		b, ok := r.bytes()
		if end := size - len(r.rest); ok && utf8.Valid(b) {
			all = append(all, whole[end-len(b):end])
			continue
		}
		*r = before // null, or no UTF-8, or behind an error: a text of its own
		all = append(all, r.Text())
	}
	return all
}
