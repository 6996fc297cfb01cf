package work

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// rival is another client with the session's id and password, with which it can end the session. It
// reads them on the session's own connections.
type rival struct {
	servers []string // through no proxy

	mu    sync.Mutex
	knows jute.ConnectResponse // the newest answer to a handshake; without an id before the first one
}

// dial opens a connection of the session.
func (r *rival) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &overheard{Conn: conn, rival: r}, nil
}

// overheard is a connection whose first message, the answer to the handshake, the rival reads too.
type overheard struct {
	net.Conn
	rival *rival
	first []byte
}

// answer is the length of that message: its length, and of its fields the version, the timeout, the
// session's id, and the password of 16 bytes with its length.
const answer = 4 + 4 + 4 + 8 + 4 + 16

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	if len(o.first) < answer {
		if o.first = append(o.first, p[:n]...); len(o.first) >= answer {
			o.rival.hear(o.first)
		}
	}
	return n, err
}

func (r *rival) hear(frame []byte) {
	var s jute.ConnectResponse
	if s.Decode(jute.NewReader(frame[4:])) == nil && s.SessionID != 0 {
		r.mu.Lock()
		r.knows = s
		r.mu.Unlock()
	}
}

// expire ends the session, so that its owner learns of an expiry; false if the end is not confirmed
// in time. A server closes a session's connection, even before it has answered, when another
// connection comes with the session's id. The owner may make one just then, so the rival tries
// again until the session is gone.
func (r *rival) expire(within time.Duration) bool {
	r.mu.Lock()
	s := r.knows
	r.mu.Unlock()
	for end, try := time.Now().Add(within), 0; s.SessionID != 0 && time.Now().Before(end); try++ {
		if gone(s, r.servers[try%len(r.servers)]) {
			return true
		}
		pause(context.Background(), 10*time.Millisecond) // a server that is down refuses at once
	}
	return false
}

// gone asks a server to end a session; true if it does not exist any more.
func gone(s jute.ConnectResponse, server string) bool {
	conn, err := net.DialTimeout("tcp", server, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close() // the rest has been read
	if conn.SetDeadline(time.Now().Add(time.Second)) != nil {
		return false
	}
	say(conn, &jute.ConnectRequest{Timeout: s.Timeout, SessionID: s.SessionID, Password: s.Password})
	frame := make([]byte, answer)
	if _, err := io.ReadFull(conn, frame); err != nil {
		return false
	}
	var now jute.ConnectResponse
	if now.Decode(jute.NewReader(frame[4:])) == nil && now.SessionID == 0 {
		return true
	}
	say(conn, &jute.Request{Xid: 1, Op: jute.OpCloseSession})
	_, _ = io.Copy(io.Discard, conn) // until the server closes the connection: the next try finds whether the session is gone
	return false
}

// say sends a message. If that fails, the next read of the connection fails too.
func say(conn net.Conn, message interface{ Encode(to *jute.Writer) }) {
	w := jute.NewWriter(nil)
	w.Begin()
	message.Encode(w)
	w.End()
	_, _ = conn.Write(w.Bytes())
}
