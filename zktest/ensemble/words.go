package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// Version returns the servers' version of ZooKeeper, such as "3.8.0", from the first server that
// answers. It returns an error if none does.
func (e *Ensemble) Version() (string, error) {
	var failed error
	for i, sv := range e.servers {
		answer, err := word(context.Background(), sv.addr, "srvr") // bounded by the exchange's own timeout
		version, ok := parseVersion(answer)
		if ok {
			return version, nil
		}
		failed = errors.Join(failed, fmt.Errorf("ensemble: version of server %d: %q: %w", i, answer, cmp.Or(err, errNoVersion)))
	}
	return "", failed
}

var errNoVersion = errors.New("no version in the answer")

// parseVersion reads "3.8.0" out of "Zookeeper version: 3.8.0-5a02a05e, built on 2022-02-25 08:49
// UTC".
func parseVersion(answer string) (string, bool) {
	rest, ok := strings.CutPrefix(answer, "Zookeeper version: ")
	if !ok {
		return "", false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	return rest[:max(end, 0)], end > 0
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
