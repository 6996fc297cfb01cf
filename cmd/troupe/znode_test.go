package main

// troupe ls, get, set, rm, tree and stat.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// garden has a name and data that a terminal must not get, and a part that may not be read.
func garden(t *bubble.World) {
	t.Helper()
	require.NoError(t, t.Server.Load(`{"path":"/app/evil\u202e","base64":"G1sySnR3bwoJbGlcbmVz/w=="}
{"path":"/app/hidden/below"}
{"path":"/app/hidden","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="},{"perms":"a","scheme":"world","id":"anyone"}]}
{"path":"/app/deep/a/b"}`))
	must(t.Session().Create(t.Context(), "/app/deep/mine", nil, session.Ephemeral()))
}

func TestZnodesAreListedDrawnAndDescribed(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		garden(t)
		golden(t, "znode-read", each("ls /app\nls -R /app\nls /app/deep -o json\nls /no\n"+
			"tree /app --depth 2\ntree /app/deep --depth 0 -o json\ntree /no\nstat /app/hidden\nstat /no")...)
		for i := range 60 {
			require.NoError(t, t.Server.Znodes(t).Create(fmt.Sprintf("/wide/n%02d", i), nil))
		}
		out, _ := troupe(t, "tree", "/wide")
		require.Equal(t, 51, strings.Count(out, "\n"))
		require.Contains(t, out, "/wide (children: 60)\n├── n00\n")
	})
}

func TestDataArePrintedAsTheyAreAndForATerminalWithoutWhatItWouldObey(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		garden(t)
		golden(t, "znode-data", each("get /no\nget /app/hidden\nset /no new\nset /app new --version 7")...)
		out, _ := troupe(t, "get", "/app/evil\u202e")
		require.Equal(t, "\x1b[2Jtwo\n\tli\\nes\xff", out)
		out, _ = typed("x").run(bubble.Minute(t), t, "get", "/app/evil\u202e")
		require.Equal(t, `\x1b[2Jtwo`+"\n\t"+`li\nes\xff`+"\n", out)
		_, code := typed("from standard input\n").run(bubble.Minute(t), t, "set", "/app", "-")
		require.Zero(t, code)
		golden(t, "get", each("get /app\nget /app -o json")...)
	})
}

func TestOutputThatIsNotWrittenIsAnError(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		jobs(t)
		reader, full := io.Pipe()
		require.NoError(t, reader.CloseWithError(errors.New("no space left")))
		for _, args := range each("ls /\nls -R /\ntree /\ntree / -o json\nget /jobs\nstat /jobs\ndoctor /jobs\nlock --help\n" +
			"queue put /jobs x\nqueue put /jobs x -o json\nqueue ls /jobs\nconfig watch /jobs\nconfig watch /jobs -o json") {
			var log strings.Builder
			require.Equal(t, 1, typed("").write(bubble.Minute(t), t, t.Server.Dialer(), full, &log, args...), args)
			require.Contains(t, log.String(), "troupe: no space left\n", args)
		}
	})
}

func TestRmAsksAndRefusesWhatItWasNotAskedFor(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		garden(t)
		before := must(t.Server.Tree())
		golden(t, "znode-rm", each("rm / -R --yes\nrm / --yes --namespace /zookeeper\nrm /no\nrm /app/deep --yes\n"+
			"rm /app/hidden/below\nrm /app -R --yes\n-R rm /app/deep --dry-run")...)
		out, code := typed("n\n").run(bubble.Minute(t), t, "rm", "/app/deep/mine")
		require.Equal(t, 1, code)
		require.Equal(t, "delete /app/deep/mine (ephemeral) and 0 below it? [y/N] troupe: nothing was changed\n", out)
		require.Equal(t, before, must(t.Server.Tree()))
		for _, args := range each("rm /app/deep/mine\nrm -R /app/deep") {
			out, code = typed("y\n").run(bubble.Minute(t), t, args...)
			require.Zero(t, code, out)
		}
		_, err := t.Server.Znodes(t).Get("/app/deep")
		require.ErrorIs(t, err, zktest.ErrNoNode)
	})
}

func TestRmOfThousandsTellsHowFarItIsAndTakesWhatOthersCreateMeanwhile(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		for i := range 2500 {
			require.NoError(t, t.Server.Znodes(t).Create(fmt.Sprintf("/many/n%04d", i), nil))
		}
		multis := 0
		t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
			if q.Op == zktest.OpMulti {
				multis++
			}
			if q.Op == zktest.OpMulti && multis == 24 {
				require.NoError(t, t.Server.Znodes(t).Create("/many/n0001/new", nil))
				require.NoError(t, t.Server.Znodes(t).Delete("/many/n0002"))
			}
			return zktest.Pass
		})
		out := exits(t, 0, "rm", "-R", "/many", "--yes")
		require.Equal(t, "found 1000\nfound 2000\ndeleted 1000 of 2501\ndeleted 2000 of 2501\n", out)
		_, err := t.Server.Znodes(t).Get("/many")
		require.ErrorIs(t, err, zktest.ErrNoNode)
	})
}
