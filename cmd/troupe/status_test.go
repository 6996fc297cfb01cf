package main

// The output and the exit status of a command with nothing to show, or that fails: the table in
// docs/cli.md.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// leaves are the commands that connect, but for run, with the arguments behind their path, and the
// status of each where the path does not exist.
var leaves = map[string]struct {
	args    string
	missing int
}{
	"barrier break": {"", 5}, "barrier lower": {"", 5}, "barrier raise": {"", 0}, "barrier show": {"", 0},
	"config edit": {"", 5}, "config get": {"", 5}, "config set": {"x", 5}, "config watch": {"", 0},
	"doctor":         {"", 5},
	"election break": {"", 5}, "election transfer": {"a", 5}, "election show": {"", 0}, "election watch": {"", 0},
	"get":      {"", 5},
	"group ls": {"", 0}, "group watch": {"", 0},
	"lock break": {"", 5}, "lock ls": {"", 0}, "lock revoke": {"", 5}, "lock show": {"", 0}, "lock watch": {"", 0},
	"ls":              {"", 5},
	"queue consumers": {"", 0}, "queue dead": {"", 0}, "queue show": {"a", 5}, "queue ls": {"", 0}, "queue pause": {"", 5}, "queue resume": {"", 5}, "queue stats": {"", 0}, "queue peek": {"", 1}, "queue purge": {"", 5}, "queue put": {"x", 5}, "queue remove": {"a", 5}, "queue requeue": {"a", 5},
	"rm": {"", 5}, "set": {"x", 5}, "stat": {"", 5}, "tree": {"", 5},
	"tx ls": {"", 0}, "tx show": {"a", 5},
}

func TestExitStatuses(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		queued(t, "/held")
		must(t.Session(session.WithAuth("digest", []byte("a:b"))).Create(bubble.Minute(t), "/private", nil, session.WithNodeACL(session.AuthACL(session.PermAll)...)))
		all := connecting(root(&app{}))
		for name, cmd := range all {
			statusOf(t, name, cmd)
		}
		t.Server.Stop(0)
		for name, leaf := range leaves {
			want := 3
			if name == "doctor" { // it reports that
				want = 1
			}
			exits(t, want, strings.Fields(name+" /no "+leaf.args)...)
		}
		for name := range leaves {
			require.Contains(t, all, name, "there is no such command")
		}
	})
}

// connecting returns the commands that connect, but for run, by their names.
func connecting(cmd *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	for _, sub := range cmd.Commands() {
		maps.Copy(all, connecting(sub))
		name := strings.TrimPrefix(sub.CommandPath(), "troupe ")
		if !sub.HasSubCommands() && sub.Name() != "run" && name != "server" && name != "exporter" && sub.Flag("servers") != nil {
			all[name] = sub
		}
	}
	return all
}

// Without a terminal each command with --yes is refused before it changes anything.
func TestEachCommandWithYesAsks(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		village(t)
		require.NoError(t, t.Server.Znodes(t).Create("/gate", nil))
		_, before, _ := strings.Cut(t.Server.Dump(), "\n")
		doomed := map[string]string{
			"barrier break": "/app/rounds", "barrier lower": "/gate", "election break": "/app/e", "election transfer": "/app/e b",
			"lock break": "/app/locks/a", "lock revoke": "/app/locks/a", "queue purge": "/jobs", "queue remove": "/jobs b", "rm": "/gate",
		}
		for name, cmd := range connecting(root(&app{})) {
			if cmd.Flags().Lookup("yes") == nil {
				continue
			}
			require.Contains(t, doomed, name, "what could it destroy?")
			require.Contains(t, exits(t, statusUsage, strings.Fields(name+" "+doomed[name])...), "refused without --yes", name)
		}
		_, after, _ := strings.Cut(t.Server.Dump(), "\n")
		require.Equal(t, before, after)
	})
}

// statusOf runs a command where it cannot do its work.
func statusOf(t *bubble.World, name string, cmd *cobra.Command) {
	t.Helper()
	leaf, known := leaves[name]
	require.True(t, known, "%s: what is its status for a path that does not exist?", name)
	run := func(want int, path string, more ...string) string {
		t.Helper()
		args := append(strings.Fields(name+" "+path+" "+leaf.args), more...)
		if cmd.Flags().Lookup("yes") != nil {
			args = append(args, "--yes")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second) // a watch is ended by hand
		defer cancel()
		out, code := typed("").run(ctx, t, args...)
		require.Equal(t, want, code, "%v: %s", args, out)
		return out
	}
	t.Server.ClearJournal()
	run(2, "/no", "--nosuch")
	require.Contains(t, run(2, "no"), `PATH "no": not absolute`)
	if name != "doctor" {
		out := exits(t, 2, strings.Fields(name)...)
		require.Regexp(t, "^troupe: usage: troupe "+name+" PATH", out)
	}
	require.Empty(t, t.Server.Journal(), "%s: refused before it connects", name)
	if out := run(leaf.missing, "/no/"+strings.ReplaceAll(name, " ", "-")); leaf.missing == 0 && strings.HasSuffix(name, "ls") {
		require.Contains(t, out, "does not exist\n")
	}
	forbidden := 4
	if name == "doctor" { // it reports that
		forbidden = 0
	}
	if name == "ls" || name == "stat" || name == "rm" || name == "config watch" { // these need no right, or wait for it
		forbidden = -1
	}
	if forbidden >= 0 {
		run(forbidden, "/private")
	}
	if cmd.Flags().Lookup("timeout") != nil {
		run(statusTimeout, "/held", "--timeout", "20s")
	}
}

func TestStatusOfAnError(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		statusNo: errors.New("not so"), statusUsage: usage{errors.New("x")}, statusDown: fmt.Errorf("x: %w", errors.Join(errUnreachable, context.DeadlineExceeded)),
		statusForbidden: session.ErrNoAuth, statusMissing: session.ErrNoNode, statusTimeout: context.DeadlineExceeded,
	} {
		require.Equal(t, want, status(err))
	}
	require.Equal(t, "one\n\ttwo\\x1b[2J", explain(errors.New("one\n\ttwo\x1b[2J")), "lines stay, but nothing that a terminal obeys")
}

func TestFreeIsASuccessAndCheckTellsIt(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		golden(t, "free", each("lock ls /no -o json\nlock ls /no\nelection show /no\nlock show /no --check\nelection show /no --check\n"+
			"queue ls /no -o json\ngroup ls /no -o json\ntx ls /no -o json\nnosuch\nlock nosuch\nlock ls\n--no ls /")...)
		queued(t, "/a")
		campaigning(t, "/e")
		exits(t, 0, "lock", "show", "/a", "--check")
		exits(t, 0, "election", "show", "/e", "--check")
	})
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"--version":        {0, `^troupe \S+\n$`},
		"help lock ls":     {0, `^List the holders`},
		"help nosuch":      {2, `^troupe: there is no command "nosuch": `},
		"help lock nosuch": {2, `^troupe: there is no command "lock nosuch": `},
	} {
		var out strings.Builder
		a := &app{out: &printer{Writer: &out}, log: &out}
		cmd := root(a)
		cmd.SetArgs(strings.Fields(args))
		require.Equal(t, want.status, a.execute(t.Context(), cmd), args)
		require.Regexp(t, want.says, out.String())
	}
}

// A watch may begin before the path exists.
func TestAWatchBeginsBeforeTheFirstHolder(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		saw := func(command string) <-chan string {
			return bubble.Begin(func() string { out, _ := typed("").run(ctx, t, strings.Fields(command)...); return out })
		}
		locks, elections := saw("lock watch /a"), saw("election watch /e")
		time.Sleep(time.Minute)
		queued(t, "/a")
		campaigning(t, "/e")
		require.Regexp(t, `(?s)^/a does not exist\n\S+T01:01:00\S+ \+ /a/\S+  holds  .*T01:01:00\S+  \S+T01:01:00`, <-locks)
		require.Regexp(t, `(?s)^/e does not exist\n\S+T01:01:00\S+ \+ a  `, <-elections)
	})
}

// A contender that waits for a delay does not hold; a path with nothing but a delay is a lock.
func TestADelayIsShown(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		server := t.Server
		holder := t.Session(session.WithIdentity("orders-7"))
		take := func(s *session.Session) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, _ = lockOf(t, s).Lock(ctx) // the second one's wait ends
		}
		take(holder)
		time.Sleep(time.Minute)
		out, _ := troupe(t, "lock", "ls", "/a")
		require.Regexp(t, `QUEUED  HELD .*\n\S+  holds  .*  1m0s    1m0s  `, out)
		server.Partition(holder.Status().SessionID)
		time.Sleep(time.Minute)
		out = exits(t, 0, "lock", "ls", "/a")
		require.Regexp(t, `\n/a/held  delayed from when somebody waits, after orders-7 on host \S+ \(pid \d+\)  `, out)
		exits(t, 1, "lock", "show", "/a", "--check")
		go take(t.Session()) // ends with its wait
		time.Sleep(time.Second)
		for _, command := range []string{"lock ls /a", "lock show /a"} {
			out, _ = troupe(t, strings.Fields(command)...)
			require.Regexp(t, `\n/a/_c_\S+  delayed until 2000-01-01T01:02:15\+01:00, after orders-7 on host \S+ \(pid \d+\)  `, out)
		}
		exits(t, 1, "lock", "show", "/a", "--check")
		out, _ = troupe(t, "lock", "ls", "/a", "-o", "json")
		require.Regexp(t, `(?s)"state": "delayed".*"delay": \{\s+"until": "2000-01-01T00:02:15Z",\s+"after": \{\s+"text": "orders-7 on .*"program": .*"name": "orders-7",\s+"host": .*"pid": \d+`, out)
		time.Sleep(5 * time.Second)
	})
}

func lockOf(t *bubble.World, s *session.Session) *lock.Lock {
	l := must(lock.New(s, "/a", lock.WithDelay(15*time.Second)))
	return l
}
