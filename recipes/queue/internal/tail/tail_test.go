package tail_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a transaction, as a reader sees it.
func text(ops []machine.Op) (lines []string) {
	for _, op := range ops {
		lines = append(lines, op.String())
	}
	return lines
}

func one(head string) []tail.Addition {
	return []tail.Addition{{Lane: place.Lane{}, Head: head, Items: 1}}
}

func TestABucketIsMadeCheckedAndSealed(t *testing.T) {
	t.Parallel()
	end := tail.New(layout.Root("/q"), 2)
	require.False(t, end.Known())
	end.Listed(nil)
	var parts []tail.Part
	var ops []machine.Op
	put := func(results ...string) {
		for n, p := range parts {
			end.Done(p, machine.Result{Path: results[n]})
		}
	}
	ops, parts = end.Append(one("a-"))
	require.Equal(t, []string{`create /q/work/ready-0-0000000000 ""`, `create /q/work/ready-0-0000000000/a- sequential ""`}, text(ops))
	put("", "/q/work/ready-0-0000000000/a-0000000000")
	ops, parts = end.Append(one("b-"))
	require.Equal(t, []string{
		`set /q/work/ready-0-0000000000 v0 ""`, `create /q/work/ready-0-0000000001 ""`, `create /q/work/ready-0-0000000000/b- sequential ""`,
	}, text(ops))
	put("", "", "/q/work/ready-0-0000000000/b-0000000001")
	ops, _ = end.Append(one("c-"))
	require.Equal(t, []string{`check /q/work/ready-0-0000000001 v0`, `create /q/work/ready-0-0000000001/c- sequential ""`}, text(ops))
}

// A bucket that turns out to be sealed is the one that was written to, and not the one that a
// listing has shown meanwhile: a bucket behind that one would hide what others put into it.
func TestAListingMayComeInBetween(t *testing.T) {
	t.Parallel()
	end := tail.New(layout.Root("/q"), 256)
	end.Listed([]string{"ready-0-0000000005"})
	_, parts := end.Append(one("a-"))
	end.Listed([]string{"ready-0-0000000005", "ready-0-0000000006"})
	require.False(t, end.Failed(parts[0], machine.BadVersion))
	end.Listed([]string{"ready-0-0000000006"})
	ops, _ := end.Append(one("a-"))
	require.Equal(t, `check /q/work/ready-0-0000000006 v0`, ops[0].String())
}

// A bucket that somebody has deleted by hand is not made again: what is put into it then would have
// numbers that the cursor has passed.
func TestABucketThatIsGone(t *testing.T) {
	t.Parallel()
	for was, c := range map[string]struct {
		left []string
		next string
	}{
		"ready-0-0000000000": {nil, "ready-0-0000000001"},
		"ready-0-0000000005": {[]string{"ready-0-0000000004"}, "ready-0-0000000006"},
		"ready-0-0000000007": {[]string{"ready-0-0000000009"}, "ready-0-0000000009"},
	} {
		end := tail.New(layout.Root("/q"), 256)
		end.Listed([]string{was})
		_, parts := end.Append(one("a-"))
		end.Failed(parts[0], machine.NoNode)
		require.False(t, end.Known(), was)
		end.Listed(c.left)
		ops, _ := end.Append(one("a-"))
		require.Equal(t, "/q/work/"+c.next, ops[0].Path)
	}
}

// What was concluded is not concluded from: after one wrong guess the queue is listed.
func TestAGuess(t *testing.T) {
	t.Parallel()
	end := tail.New(layout.Root("/q"), 256)
	end.Listed([]string{"ready-0-0000000005"})
	_, parts := end.Append(one("a-"))
	require.False(t, end.Failed(parts[0], machine.BadVersion))
	require.True(t, end.Known())
	ops, parts := end.Append(one("a-"))
	require.Equal(t, `check /q/work/ready-0-0000000006 v0`, ops[0].String())
	require.False(t, end.Failed(parts[0], machine.NoNode))
	require.False(t, end.Known())
}
