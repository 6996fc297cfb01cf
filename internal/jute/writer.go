package jute

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Writer appends values to a buffer. The zero value is ready.
type Writer struct {
	buf   []byte
	frame int
}

// NewWriter appends to buf.
func NewWriter(buf []byte) *Writer { return &Writer{buf: buf} }

// Bytes is everything written so far.
func (w *Writer) Bytes() []byte { return w.buf }

// Len is how much was written so far.
func (w *Writer) Len() int { return len(w.buf) }

// Reset goes on with another buffer.
func (w *Writer) Reset(buf []byte) { *w = Writer{buf: buf} }

// Raw appends text as it is.
func (w *Writer) Raw(text string) { w.buf = append(w.buf, text...) }

// Begin starts a frame: its length is filled in by End.
func (w *Writer) Begin() {
	w.frame = len(w.buf)
	w.buf = append(w.buf, 0, 0, 0, 0)
}

// End completes the frame that Begin started, and returns its size.
func (w *Writer) End() (size int) {
	size = len(w.buf) - w.frame - 4
	binary.BigEndian.PutUint32(w.buf[w.frame:], uint32(size))
	return size
}

// Bool writes one byte.
func (w *Writer) Bool(v bool) {
	if v {
		w.buf = append(w.buf, 1)
		return
	}
	w.buf = append(w.buf, 0)
}

// Int writes four bytes.
func (w *Writer) Int(v int32) { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(v)) }

// Long writes eight bytes.
func (w *Writer) Long(v int64) { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(v)) }

// Buffer writes a byte buffer; nil is written as null.
func (w *Writer) Buffer(b []byte) {
	if b == nil {
		w.Int(-1)
		return
	}
	w.Int(int32(len(b)))
	w.buf = append(w.buf, b...)
}

// Text writes a string, [Null] as null. Characters beyond 16 bits are written as the real server
// writes them: as two surrogates of three bytes each.
func (w *Writer) Text(s string) {
	if s == Null {
		w.Int(-1)
		return
	}
	at := len(w.buf)
	w.Int(int32(len(s)))
	for i := range len(s) {
		if s[i] >= 0xf0 {
			w.surrogates(at, s)
			return
		}
	}
	w.buf = append(w.buf, s...)
}

func (w *Writer) surrogates(at int, s string) {
	for _, c := range s {
		if hi, lo := utf16.EncodeRune(c); hi != utf8.RuneError {
			for _, half := range []rune{hi, lo} {
				w.buf = append(w.buf, 0xe0|byte(half>>12), 0x80|byte(half>>6)&0xbf, 0x80|byte(half)&0xbf)
			}
			continue
		}
		w.buf = utf8.AppendRune(w.buf, c)
	}
	binary.BigEndian.PutUint32(w.buf[at:], uint32(len(w.buf)-at-4))
}

// Texts writes a vector of strings; nil is written as an empty one, since no client sends null.
func (w *Writer) Texts(all []string) {
	w.Int(int32(len(all)))
	for _, s := range all {
		w.Text(s)
	}
}
