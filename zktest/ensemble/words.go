package ensemble

import (
	"context"
	"io"
	"net"
	"strings"
	"time"
)

// wordTimeout bounds one exchange; a server that is paused never answers.
const wordTimeout = 2 * time.Second

// word sends one of ZooKeeper's four-letter words and returns the answer.
func word(ctx context.Context, addr, w string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, w); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) > 0 && strings.HasSuffix(string(answer), "\n") {
		return string(answer), nil // some versions reset the connection behind a complete answer
	}
	return string(answer), err
}

// mode is "standalone", "leader", "follower", or "" if the server doesn't serve.
func mode(ctx context.Context, addr string) string {
	answer, err := word(ctx, addr, "srvr")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(answer) {
		if m, ok := strings.CutPrefix(line, "Mode: "); ok {
			return strings.TrimSpace(m)
		}
	}
	return ""
}
