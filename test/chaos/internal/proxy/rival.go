package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	passwordLength = 16
	opClose        = -11
)

// ErrGone: the session that a rival wanted to end is over already.
var ErrGone = errors.New("proxy: the session is over")

// parseSession reads a server's answer to a handshake: protocol, timeout, id, password.
func parseSession(frame []byte) (Session, bool) {
	if len(frame) < 4+4+4+8+4+passwordLength {
		return Session{}, false
	}
	body := frame[4:]
	s := Session{
		Timeout:  int32(binary.BigEndian.Uint32(body[4:])),
		ID:       int64(binary.BigEndian.Uint64(body[8:])),
		Password: append([]byte(nil), body[20:20+passwordLength]...),
	}
	return s, s.ID != 0
}

// Expire ends a session through a server as a rival: it connects with the session's id and
// password, and closes it. The session's owner is told that it has expired. A server lets go of a
// connection, answered or not, when another comes with the same id, as the owner's may just then;
// so the rival tries again.
func Expire(server string, s Session, within time.Duration) error {
	deadline, sent := time.Now().Add(within), false
	for {
		asked, err := rival(server, s, deadline)
		sent = sent || asked
		switch {
		case errors.Is(err, ErrGone) && sent:
			return nil
		case !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET):
			return err
		case time.Now().After(deadline):
			return err
		}
	}
}

// rival tries once, and tells whether it has asked for the end of the session.
func rival(server string, s Session, deadline time.Time) (asked bool, err error) {
	c, err := net.DialTimeout("tcp", server, time.Until(deadline))
	if err != nil {
		return false, err
	}
	defer c.Close() // the answer has been read
	if err := c.SetDeadline(deadline); err != nil {
		return false, err
	}
	shake := binary.BigEndian.AppendUint32(nil, 0)                  // protocol
	shake = binary.BigEndian.AppendUint64(shake, 0)                 // nothing seen
	shake = binary.BigEndian.AppendUint32(shake, uint32(s.Timeout)) // as it was
	shake = binary.BigEndian.AppendUint64(shake, uint64(s.ID))
	shake = append(binary.BigEndian.AppendUint32(shake, passwordLength), s.Password...)
	shake = append(shake, 0) // not read only
	if err := sendFrame(c, shake); err != nil {
		return false, err
	}
	answer, err := readFrame(c)
	if err != nil {
		return false, err
	}
	if _, ok := parseSession(answer); !ok {
		return false, ErrGone
	}
	end := binary.BigEndian.AppendUint32(nil, 1)
	minus := int32(opClose)
	end = binary.BigEndian.AppendUint32(end, uint32(minus))
	if err := sendFrame(c, end); err != nil {
		return true, err
	}
	_, err = readFrame(c)
	return true, err
}

func sendFrame(c net.Conn, body []byte) error {
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}
