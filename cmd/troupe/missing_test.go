package main

// A missing value and a new path: nothing is written without "" or --create.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/zktest"
)

func TestAValueThatIsMissingIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		require.NoError(t, t.Server.Znodes(t).Create("/rate", []byte("5")))
		q := must(queue.New(t.Session(), "/jobs"))
		must(q.Put(bubble.Minute(t), []byte("5")))
		// written is the value of the znode, or of the queue's first item, which it takes.
		written := func(args []string) string {
			if args[0] != "queue" {
				return string(must(t.Server.Znodes(t).Get("/rate")))
			}
			e := must(q.Peek(bubble.Minute(t)))
			require.NoError(t, q.Remove(bubble.Minute(t), e.ID))
			return string(e.Data)
		}
		for _, args := range each("set /rate\nconfig set /rate\nqueue put /jobs") {
			for _, in := range []typed{"", "from standard input"} { // a value that is not named is not read either
				out, code := in.run(bubble.Minute(t), t, args...)
				require.NotZero(t, code, out)
			}
			out, code := troupe(t, append(args, "-")...)
			require.NotZero(t, code)
			require.Equal(t, "troupe: -: the standard input is empty; an empty value is given as \"\"\n", out)
			require.Equal(t, "5", written(args), args)
			_, code = typed("of two\nlines\n").run(bubble.Minute(t), t, append(args, "-")...)
			require.Zero(t, code)
			require.Equal(t, "of two\nlines\n", written(args))
			exits(t, 0, append(args, "")...)
			require.Empty(t, written(args))
			require.NoError(t, t.Server.Znodes(t).Set("/rate", []byte("5")))
		}
	})
}

func TestAPathThatIsNewIsMadeIfThatIsAskedFor(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		for path, args := range map[string][]string{
			"/app/rate": {"config", "set", "/app/rate", "5"},
			"/app/jobs": {"queue", "put", "/app/jobs", "5"},
		} {
			out, code := troupe(t, args...)
			require.NotZero(t, code)
			require.Contains(t, out, path+": the znode does not exist; --create makes it, with its parents (are the path and --namespace right")
			_, err := t.Server.Znodes(t).Get(path)
			require.ErrorIs(t, err, zktest.ErrNoNode)
			for range 2 { // it may be given where the path is not new
				exits(t, 0, append(args, "--create")...)
			}
			must(t.Server.Znodes(t).Get(path))
		}
		_, code := troupe(t, "config", "set", "/other", "5", "--create", "--version", "0")
		require.NotZero(t, code)
	})
}
