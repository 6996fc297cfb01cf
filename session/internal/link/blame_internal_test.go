package link

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a server that hangs up gives a reason to look for a request at which it did. A line that is given up here gives none.
func TestWhatIsGivenUpHereIsNobodysFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause error
		blame bool
	}{{io.EOF, true}, {errSilent, false}, {errOvertaken, false}} {
		conn := &Conn{core: &core{usual: newUsual()}}
		r := &request{size: 10}
		l := &line{conn: conn, useful: true, pending: map[int32]*request{1: r}}
		r.line = l
		l.blame(c.cause)
		err := r.unanswered()
		require.ErrorIs(t, err, ErrNoReply)
		require.Equal(t, c.blame, l.cutOff, "%v", c.cause)
		if c.blame {
			require.ErrorIs(t, err, ErrCutOff)
		} else {
			require.NotErrorIs(t, err, ErrCutOff)
		}
	}
}
