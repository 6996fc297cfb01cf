package stack_test

// A widened stack is not moved.

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/stack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A stack that grows is moved, with the variables on it.
func TestAWidenedStackStaysWhereItIs(t *testing.T) {
	t.Parallel()
	for range 100 {
		moved := make(chan bool)
		go func() { // ends with its answer
			stack.Widen()
			moved <- moves()
		}()
		require.False(t, <-moved)
	}
}

//go:noinline
func moves() bool {
	var here byte
	before := uintptr(unsafe.Pointer(&here))
	descend(stack.Room / 512)
	return uintptr(unsafe.Pointer(&here)) != before
}

// descend goes down in steps of a good third of a kilobyte.
//
//go:noinline
func descend(steps int) byte {
	var frame [384]byte
	if steps > 0 {
		frame[steps] = descend(steps - 1)
	}
	return frame[steps/2]
}
