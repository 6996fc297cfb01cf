package jute

import "encoding/binary"

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

// Begin starts a frame: its length is filled in by End.
func (w *Writer) Begin() {
	w.frame = len(w.buf)
	w.buf = append(w.buf, 0, 0, 0, 0)
}

// End completes the frame that Begin started.
func (w *Writer) End() {
	binary.BigEndian.PutUint32(w.buf[w.frame:], uint32(len(w.buf)-w.frame-4))
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

// Text writes a string.
func (w *Writer) Text(s string) {
	w.Int(int32(len(s)))
	w.buf = append(w.buf, s...)
}

// Texts writes a vector of strings.
func (w *Writer) Texts(all []string) {
	w.Int(int32(len(all)))
	for _, s := range all {
		w.Text(s)
	}
}
