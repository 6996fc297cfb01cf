package zkconn

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// Every code of ZooKeeper's KeeperException has an error value of its own, or a text that says more
// than its number; or it is about the connection or the session, and never reaches whoever asked.
func TestEveryErrorCodeHasAName(t *testing.T) {
	t.Parallel()
	for _, code := range []jute.Code{
		-1, -2, -3, -4, -5, -6, -7, -8, -12, -13, -14,
		-100, -101, -102, -103, -108, -110, -111, -112, -113, -114, -115, -118, -119, -120, -121, -122, -123, -124, -125, -127,
	} {
		if undecided(code) {
			continue
		}
		err := verdict(code)
		require.Error(t, err, code)
		if unnamed, ok := errors.AsType[*CodeError](err); ok {
			require.Contains(t, meanings, code)
			require.Contains(t, unnamed.Error(), meanings[code])
		}
	}
}
