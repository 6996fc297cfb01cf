package zkconn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
)

// What a server says that it lacks is not known for that: another server may hang up at it.
func TestARefusalMakesNoOperationKnown(t *testing.T) {
	t.Parallel()
	k := newOperations()
	create2 := &request{ask: jute.Request{Op: jute.OpCreate2}, reply: jute.Reply{Err: jute.Unimplemented}}
	container := &request{ask: jute.Request{Op: jute.OpCreateContainer}}
	k.took(create2)
	require.False(t, k.has(create2))
	require.False(t, k.has(container))
	create2.reply.Err = jute.NodeExists
	k.took(create2)
	require.True(t, k.has(create2))
	require.True(t, k.has(container))
}
