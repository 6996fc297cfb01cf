package fence_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
)

// again makes an ephemeral znode, and its sequencer.
func again(t testing.TB, s *session.Session, path string, mode fence.Mode, data string) fence.Sequencer {
	t.Helper()
	path, err := s.Create(bubble.Minute(t), path, []byte(data), session.Ephemeral(), session.Parents())
	require.NoError(t, err)
	stat, _, err := s.Exists(bubble.Minute(t), path)
	require.NoError(t, err)
	return fence.Sequencer{Path: s.Path(path), Mode: mode, Token: stat.Czxid, SessionID: stat.EphemeralOwner}
}

// Names come again in the layout Simple, and in lines whose parent was removed while nobody stood
// in them.
func TestAPossessionThatIsOverIsNotConfirmedByTheNextOfTheSameName(t *testing.T) {
	t.Parallel()
	for _, mode := range []fence.Mode{fence.Exclusive, fence.Shared} {
		for _, name := range []string{"a", "x-72057594037927936-0000000000", "n_0000000000"} {
			t.Run(fmt.Sprint(mode, " ", name), func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(t *bubble.World) {
					holder, checker := t.Session(), t.Session()
					first := again(t, holder, "/locks/"+name, mode, "")
					require.NoError(t, fence.Check(bubble.Minute(t), checker, first))
					followed, err := fence.Follow(bubble.Minute(t), checker, first)
					require.NoError(t, err)
					_, err = holder.Multi(bubble.Minute(t), session.DeleteOp("/locks/"+name, -1), session.CreateOp("/locks/"+name, nil, session.Ephemeral()))
					require.NoError(t, err)
					require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, first), fence.ErrFenced)
					<-followed.Done()
					require.ErrorIs(t, context.Cause(followed), fence.ErrFenced)
					_, err = fence.Follow(bubble.Minute(t), checker, first)
					require.ErrorIs(t, err, fence.ErrFenced)
				})
			})
		}
	}
}

// A writer that goes on as a reader has another znode, which notes the token.
func TestAReaderThatTookItsOwnPlaceAsAWriterKeepsItsToken(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		holder, checker := t.Session(), t.Session()
		writer := again(t, holder, "/locks/a/w", fence.Exclusive, "")
		reader := again(t, holder, "/locks/a/r", fence.Shared, fmt.Sprintf("placed %d\nmine", writer.Token))
		reader.Token = writer.Token
		require.NoError(t, fence.Check(bubble.Minute(t), checker, reader))
		followed, err := fence.Follow(bubble.Minute(t), checker, reader)
		require.NoError(t, err)
		_, err = holder.Set(bubble.Minute(t), "/locks/a/r", fmt.Appendf(nil, "unlock\nplaced %d\nmine", writer.Token), -1)
		require.NoError(t, err)
		require.NoError(t, fence.Check(bubble.Minute(t), checker, reader), "it is asked to give up, and has not")
		require.NoError(t, followed.Err())
		_, err = holder.Set(bubble.Minute(t), "/locks/a/r", nil, -1)
		require.NoError(t, err)
		require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, reader), fence.ErrFenced)
		<-followed.Done()
		reader.Mode = fence.Exclusive
		require.ErrorIs(t, fence.Check(bubble.Minute(t), checker, reader), fence.ErrFenced)
	})
}

func TestAGateForOneSimpleLockDoesNotAdmitItsSibling(t *testing.T) {
	t.Parallel()
	of := func(path string, token int64) fence.Sequencer {
		return fence.Sequencer{Path: path, Mode: fence.Exclusive, Token: token, SessionID: 1}
	}
	var gate fence.Gate
	require.NoError(t, gate.Admit(of("/locks/order-0000000007", 5)))
	require.ErrorIs(t, gate.Admit(of("/locks/order-0000000008", 6)), fence.ErrFenced)
	require.ErrorIs(t, gate.Admit(of("/locks/lock-0000000008", 6)), fence.ErrFenced, "one who stands in the line of their parent")
	require.NoError(t, gate.Admit(of("/locks/order-0000000007", 7)), "the next holder of the same")

	const one, other = "_c_3e6cd10f-9a4e-4c58-bb4a-1e0d2f6b7c01", "_c_3e6cd10f-9a4e-4c58-bb4a-1e0d2f6b7c02"
	for _, line := range [][2]string{
		{one + "-lock-0000000001", other + "-lock-0000000002"},
		{"lock-0000000001", "lock-0000000002"},
		{"x-7-0000000001", "x-8-0000000002"},
		{"n_0000000001", "n_0000000002"},
		{one + "-of-my-own-0000000001", other + "-of-my-own-0000000002"},
	} {
		var gate fence.Gate
		require.NoError(t, gate.Admit(of("/locks/"+line[0], 5)))
		require.NoError(t, gate.Admit(of("/locks/"+line[1], 6)), "%v", line)
	}
}
