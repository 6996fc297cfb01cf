package zkconn

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// Only a server that hangs up gives a reason to look for a request at which it did. One that lost
// an answer gives one for the request of that answer.
func TestWhoIsToBlameForALostLine(t *testing.T) {
	t.Parallel()
	const small, big = 100, 5000
	for name, c := range map[string]struct {
		cause        error
		first        int // sizes
		one, another error
	}{
		"hung up":          {&networkError{"read", io.EOF}, small, ErrCutOffUsual, ErrCutOffUsual},
		"hung up at a big": {&networkError{"read", io.EOF}, big, ErrCutOffLarge, ErrCutOffUsual},
		"silent":           {errStalled, big, nil, nil},
		"timed out":        {&networkError{"read", os.ErrDeadlineExceeded}, big, nil, nil},
		"timed out below":  {&networkError{"read", &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}}, big, nil, nil},
		"overtaken":        {&overtakenError{by: "another"}, big, ErrCutOff, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := &core{operations: newOperations(), taking: t.Context()}
			conn.session.timeout = time.Minute
			one := &request{ask: jute.Request{Op: jute.OpSetData}, size: c.first}
			another := &request{ask: jute.Request{Op: jute.OpGetData}, size: small}
			w := &wire{conn: conn, replied: true}
			w.await(one)
			w.await(newPing())
			w.await(another)
			if over, ok := errors.AsType[*overtakenError](c.cause); ok {
				over.r = one
			}
			w.blame(c.cause)
			for r, want := range map[*request]error{one: c.one, another: c.another} {
				err := r.unanswered()
				require.ErrorIs(t, err, ErrNoReply)
				if want == nil {
					require.NotErrorIs(t, err, ErrCutOff)
				} else {
					require.ErrorIs(t, err, want)
				}
			}
		})
	}
}
