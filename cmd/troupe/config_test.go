package main

// troupe config: a value as bytes, edited by version, and followed.

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/zktest"
)

func TestConfigSetCreatesAndKeepsToTheVersion(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		golden(t, "config", each("config set /a/rate 5 --version 0\nconfig set /a/rate 5 --create\nconfig set /a/rate 6 --version 1\n"+
			"config get /a/rate\nconfig edit /no\nconfig watch /no")...)
	})
}

func TestConfigEditWritesByVersionAndKeepsATextThatItDoesNotWrite(t *testing.T) { //nolint:paralleltest // it sets the environment
	bubble.Run(t, func(t *bubble.World) {
		folder := t.TempDir()
		t.Setenv("TMPDIR", folder)
		t.Setenv("VISUAL", "")
		edit := func(editor string) string {
			t.Setenv("EDITOR", editor)
			out, _ := troupe(t, "config", "edit", "/rate")
			return out
		}
		is := func(want string) {
			require.Equal(t, want, string(must(t.Server.Znodes(t).Get("/rate"))))
		}
		require.NoError(t, t.Server.Znodes(t).Create("/rate", []byte("5")))
		require.Equal(t, "not changed\n", edit("echo 5 >"))
		require.Empty(t, edit("test $(ls -l $TMPDIR | tail -n1 | cut -c1-10) = -rw------- && echo 6 >"))
		is("6")
		require.Equal(t, "not changed\ntroupe: exit status 1\n", edit("false"))
		require.Empty(t, must(os.ReadDir(folder)))
		require.Contains(t, edit("false >"), "troupe: edit /rate: exit status 1; the text is kept in "+folder+"/troupe-")
		for _, op := range []zktest.Op{zktest.OpSetData, zktest.OpExists} { // the first time its version is another, the second time 0 again
			remove := t.Server.Intercept(func(q *zktest.Request) zktest.Verdict {
				if q.Op == op {
					require.NoError(t, t.Server.Znodes(t).Delete("/rate"))
					require.NoError(t, t.Server.Znodes(t).Create("/rate", []byte("theirs")))
				}
				return zktest.Pass
			})
			_, name, kept := strings.Cut(edit("echo mine >"), "the znode has another version; the text is kept in ")
			remove()
			require.True(t, kept)
			require.Equal(t, "mine\n", string(must(os.ReadFile(strings.Fields(name)[0]))))
			is("theirs")
		}
	})
}

func TestConfigWatchPrintsEachValue(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		ctx, cancel := context.WithCancel(t.Context())
		watch := func(in typed, format string) <-chan string {
			return bubble.Begin(func() string { out, _ := in.run(ctx, t, "config", "watch", "/rate", "-o", format); return out })
		}
		then := func(err error) {
			require.NoError(t, err)
			time.Sleep(time.Second) // virtual
			synctest.Wait()
		}
		then(t.Server.Znodes(t).Create("/rate", []byte("5")))
		lines, objects, screen := watch("", "table"), watch("", "json"), watch("x", "table")
		then(nil)
		then(t.Server.Znodes(t).Set("/rate", []byte("two\nlines\x1b[2J")))
		then(t.Server.Znodes(t).Delete("/rate"))
		then(t.Server.Znodes(t).Create("/rate", []byte("6")))
		cancel()
		_, code := typed("").run(ctx, t, "set", "/rate", "7")
		require.Equal(t, 1, code, "it was told to end, and wrote nothing")
		same(t, "config-watch", bubble.Get(t, screen)+transcript(bubble.Get(t, lines), 0, "config", "watch", "/rate")+
			transcript(bubble.Get(t, objects), 0, "config", "watch", "/rate", "-o", "json"))
	})
}
