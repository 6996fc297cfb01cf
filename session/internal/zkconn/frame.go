package zkconn

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/troupe-go/troupe/internal/jute"
)

// encode makes a frame of a message.
func encode(message interface{ Encode(to *jute.Writer) }) []byte {
	frame := jute.NewWriter(nil)
	frame.Begin()
	message.Encode(frame)
	frame.End()
	return frame.Bytes()
}

// peekLength returns the length of the next frame.
func (w *wire) peekLength() (int, error) {
	head, err := w.in.Peek(4)
	if err != nil {
		return 0, err
	}
	return int(int32(binary.BigEndian.Uint32(head))), nil
}

// peekReply decodes the header of the next frame, and returns the frame's length.
func (w *wire) peekReply() (reply jute.Reply, length int, err error) {
	if length, err = w.peekLength(); err != nil {
		return reply, 0, err
	}
	if length < headerLength {
		return reply, 0, badLength(length)
	}
	head, err := w.in.Peek(4 + headerLength)
	if err != nil {
		return reply, 0, err
	}
	return reply, length, reply.DecodeHeader(jute.NewReader(head[4:]))
}

// readFrame reads a whole frame, without its length. It is valid until the next read.
func (w *wire) readFrame(length int) ([]byte, error) {
	if length < 0 || length > w.conn.cfg.maxReply() {
		return nil, badLength(length)
	}
	if 4+length <= w.in.Size() {
		frame, err := w.in.Peek(4 + length)
		if err != nil {
			return nil, err
		}
		_, err = w.in.Discard(4 + length)
		return frame[4:], err
	}
	frame := make([]byte, 4+length)
	if _, err := io.ReadFull(w.in, frame); err != nil {
		return nil, err
	}
	return frame[4:], nil
}

func badLength(length int) error { return fmt.Errorf("%w: its length is %d", errMalformed, length) }

func decodeEvent(frame []byte) (ev jute.Event, err error) {
	r := jute.NewReader(frame[headerLength:])
	if ev.Decode(r); r.Err() != nil {
		return ev, fmt.Errorf("%w: %w", errMalformed, r.Err())
	}
	return ev, nil
}
