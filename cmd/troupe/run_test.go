//go:build unix

package main

// lock run and election run, with real processes: what a command gets, how it ends, and what the
// program's own status is. Helpers: world_test.go, process_test.go (client).

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// running is the program in a process of its own, with its command.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Reader // ends when the last process that could write has ended
	log bytes.Buffer
}

// startScript starts the program with the words before "--", and a shell with a script behind them.
func startScript(t *testing.T, server *zktest.Server, script string, args ...string) *running {
	t.Helper()
	return start(t, "", append(append(args, "--servers", strings.Join(server.Servers(), ","), "--"), "sh", "-c", script)...)
}

// start starts the program with a standard input and arguments.
func start(t *testing.T, in string, args ...string) *running {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := &running{t: t, cmd: exec.Command(os.Args[0], args...), out: bufio.NewReader(r)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "TROUPE_TIMEOUT=40s") // trusted through a pause of the machine
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = strings.NewReader(in), w, &p.log
	require.NoError(t, p.cmd.Start())
	require.NoError(t, w.Close())
	t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGTERM); _ = p.cmd.Wait(); r.Close() })
	return p
}

// line is the next line that the command writes.
func (p *running) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err, "its log: %v", &p.log)
	return strings.TrimSuffix(line, "\n")
}

// end waits until the program and its command have ended; it returns what was written until then,
// and the exit status.
func (p *running) end() (string, int) {
	p.t.Helper()
	rest, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	_ = p.cmd.Wait() // its status tells
	return string(rest), p.cmd.ProcessState.ExitCode()
}

func (p *running) signal(sig syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// awaitContenders waits until a lock has n contenders, and returns them.
func awaitContenders(t *testing.T, s *session.Session, path string, n int) []lock.Contender {
	t.Helper()
	l := must(lock.New(s, path))
	return bubble.Await(t, l.Observe(bubble.Minute(t)), "contenders", func(v lock.View) bool { return len(v.Contenders) == n }).Contenders
}

// taken is a lock that another session holds, with that session.
func taken(t *testing.T, server *zktest.Server, path string) (*session.Session, *lock.Grant) {
	t.Helper()
	s := client(t, server.Servers()[0])
	return s, locked(t, s, path)
}

func TestTheStatusIsTheCommandsOrSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s, _ := taken(t, server, "/taken")
	must(must(election.New(s, "/led")).Lead(bubble.Minute(t)))
	dir := t.TempDir()
	plainFile := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plainFile, nil, 0o600))
	at := "--servers=" + server.Servers()[0]
	for name, c := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"success":              {[]string{"lock", "run", "/a", at, "--", "true"}, 0, ""},
		"a status":             {[]string{"lock", "run", "/b", at, "--", "sh", "-c", "exit 3"}, 3, ""},
		"a signal":             {[]string{"lock", "run", "/c", at, "--", "sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		"no shell":             {[]string{"lock", "run", "/d", at, "--", "true; false"}, 127, "not found"},
		"not found":            {[]string{"lock", "run", "/e", at, "--", dir + "/no"}, 127, "no such file"},
		"not executable":       {[]string{"lock", "run", "/f", at, "--", plainFile}, 126, "permission denied"},
		"held":                 {[]string{"lock", "run", "/taken", at, "--try", "--", "true"}, 124, "held by another (or, after a holder that died, delayed: troupe lock ls tells)"},
		"held for long":        {[]string{"lock", "run", "/taken", at, "--timeout", "10ms", "--", "true"}, 124, "not got in the time of --timeout"},
		"held, -E":             {[]string{"lock", "run", "/taken", at, "--try", "-E", "7", "--", "true"}, 7, "held by another"},
		"no server":            {[]string{"lock", "run", "/g", "--servers", "127.0.0.1:1", "--session-timeout", "50ms", "--", "true"}, 125, "no server has answered"},
		"a bad path":           {[]string{"lock", "run", "g", at, "--", "true"}, 125, `PATH "g": not absolute`},
		"no command":           {[]string{"lock", "run", "/g", at}, 125, "usage: troupe lock run [flags] PATH -- CMD..."},
		"no dashes":            {[]string{"lock", "run", "/g", "true"}, 125, "usage: troupe lock run"},
		"no such flag":         {[]string{"lock", "run", "/g", "--no", "--", "true"}, 125, "unknown flag: --no"},
		"-n --shared":          {[]string{"lock", "run", "/g", "-n", "2", "--shared", "--", "true"}, 125, "--permits and --shared: only one of them"},
		"--delay --shared":     {[]string{"lock", "run", "/g", "--delay", "1s", "--shared", "--", "true"}, 125, "--delay and --shared: only one"},
		"--delay -n":           {[]string{"lock", "run", "/g", "--delay", "1s", "-n", "2", "--", "true"}, 125, "--delay and --permits: only one"},
		"--try --timeout":      {[]string{"lock", "run", "/g", "--try", "--timeout", "1s", "--", "true"}, 125, "--try and --timeout: only one"},
		"no permits":           {[]string{"lock", "run", "/g", "-n", "0", "--", "true"}, 125, "positive"},
		"no time":              {[]string{"lock", "run", "/g", "--timeout", "0s", "--", "true"}, 125, "positive"},
		"a negative delay":     {[]string{"lock", "run", "/g", at, "--delay", "-1s", "--", "true"}, 125, "negative"},
		"grace too long":       {[]string{"lock", "run", "/g", at, "--session-timeout", "24s", "--grace", "4001ms", "--", "true"}, 125, "not between 0 and 4s"},
		"grace just right":     {[]string{"lock", "run", "/h", at, "--session-timeout", "24s", "--grace", "4s", "--", "true"}, 0, ""},
		"grace overlaps":       {[]string{"lock", "run", "/i", at, "--grace", "1m", "--allow-overlap", "--", "true"}, 0, ""},
		"leads, and a status":  {[]string{"election", "run", "/j", at, "--", "sh", "-c", "exit 4"}, 4, ""},
		"leads, without a cmd": {[]string{"election", "run", "/j", at}, 125, "usage: troupe election run"},
		"leads at once":        {[]string{"election", "run", "/k", at, "--try", "--", "true"}, 0, ""},
		"leads in time":        {[]string{"election", "run", "/l", at, "--timeout", "1m", "--", "true"}, 0, ""},
		"led":                  {[]string{"election", "run", "/led", at, "--try", "--", "true"}, 124, "another leads"},
		"led for long":         {[]string{"election", "run", "/led", at, "--timeout", "10ms", "--", "true"}, 124, "not got in the time of --timeout"},
		"led, two limits":      {[]string{"election", "run", "/led", "--try", "--timeout", "1s", "--", "true"}, 125, "--try and --timeout: only one"},
		"led, no time":         {[]string{"election", "run", "/led", "--timeout", "0s", "--", "true"}, 125, "--timeout: must be positive"},
		"led, quiet":           {[]string{"election", "run", "/led", at, "--try", "--quiet", "--", "true"}, 124, ""},
		"held, quiet":          {[]string{"lock", "run", "/taken", at, "--try", "--quiet", "--", "true"}, 124, ""},
		"held, quiet, -E":      {[]string{"lock", "run", "/taken", at, "--timeout", "10ms", "--quiet", "-E", "7", "--", "true"}, 7, ""},
		"an error, quiet":      {[]string{"lock", "run", "g", at, "--quiet", "--", "true"}, 125, "not absolute"},
		"no server, quiet":     {[]string{"lock", "run", "/g", "--servers", "127.0.0.1:1", "--connect-timeout", "50ms", "--quiet", "--", "true"}, 125, "no connection to ZooKeeper for "},
		"a bad name":           {[]string{"lock", "run", "/g", at, "--name", "a\x1b", "--", "true"}, 125, "not printable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "", c.args...)
			out, status := p.end()
			require.Equal(t, c.status, status, "%v", &p.log)
			require.Empty(t, out)
			if c.says == "" {
				require.Empty(t, p.log.String())
				return
			}
			require.Contains(t, p.log.String(), c.says)
			require.Equal(t, 1, strings.Count(p.log.String(), "troupe: "), "one line, the session's log aside")
			if name != "no server" { // the only one whose session has something to log
				require.NotContains(t, p.log.String(), "level=")
			}
		})
	}
}

func TestProcessOneSaysOnceThatItIsNoInit(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	for _, recipe := range []string{"lock", "election"} {
		for pid, warnings := range map[int]int{1: 1, 2: 0} {
			var log text
			a := &app{in: strings.NewReader(""), out: &printer{Writer: io.Discard}, log: &log, release: func() {}, pid: pid}
			cmd := root(a)
			cmd.SetArgs([]string{recipe, "run", "/a", "--servers", server.Servers()[0], "--", "true"})
			require.Zero(t, a.execute(bubble.Minute(t), cmd), &log)
			require.Equal(t, warnings, strings.Count(log.String(), "level=WARN"), "%s run: %v", recipe, &log)
			require.Equal(t, warnings, strings.Count(log.String(), "docker run --init"))
		}
	}
}

func TestACommandHasPathTokenAndTheProgramsInput(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	at := "--servers=" + server.Servers()[0]
	s, g := taken(t, server, "/a")
	require.NoError(t, g.Release(bubble.Minute(t)))
	p := start(t, "typed\n", "lock", "run", at, "/a", "--", "sh", "-c", `cat; echo "$TROUPE_PATH $(($TROUPE_TOKEN > $0))"`, "0")
	require.Equal(t, "typed", p.line())
	require.Equal(t, "/a 1", p.line())
	out, status := p.end()
	require.Zero(t, status)
	require.Empty(t, out)
	awaitContenders(t, s, "/a", 0)
	p = start(t, "", "election", "run", at, "/b", "--", "sh", "-c", `echo "$TROUPE_PATH ${TROUPE_ELECTION_ID:+id}"`)
	require.Equal(t, "/b id", p.line())
}

func TestSignalsReachTheCommandsGroup(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	for name, sig := range map[string]syscall.Signal{"INT": 2, "TERM": 15, "HUP": 1, "QUIT": 3, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startScript(t, server, `trap "echo `+name+`; exit 5" `+name+`; echo up; while :; do sleep 0.01; done`, "lock", "run", "/"+name)
			require.Equal(t, "up", p.line())
			p.signal(sig)
			require.Equal(t, name, p.line())
			_, status := p.end()
			require.Equal(t, 5, status)
		})
	}
}

func TestASignalEndsTheWait(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s, _ := taken(t, server, "/a")
	p := startScript(t, server, "echo up", "lock", "run", "/a")
	awaitContenders(t, s, "/a", 2)
	p.signal(syscall.SIGTERM)
	out, status := p.end()
	require.Equal(t, 128+15, status)
	require.Empty(t, out)
	require.Equal(t, "troupe: given up: terminated\n", p.log.String())
	awaitContenders(t, s, "/a", 1)
}

// A script that does not end by SIGTERM, and one that does, and says that it was sent.
const (
	stubborn = `trap "echo term" TERM; echo up; while :; do sleep 0.01; done`
	obedient = `trap "echo term; exit 0" TERM; echo up; while :; do sleep 0.01; done`
)

// The grace of commands whose output is checked is longer than a machine stands still.
func TestALossEndsTheCommand(t *testing.T) {
	t.Parallel()
	expire := func(t *testing.T, server *zktest.Server, c lock.Contender) { server.Expire(c.SessionID) }
	gone := filepath.Join(t.TempDir(), "gone") // a break revokes first: one that ends by that alone has not lost
	patient := strings.Replace(obedient, "exit", "until test -e "+gone+"; do sleep 0.01; done; exit", 1)
	for name, c := range map[string]struct {
		script string
		args   []string
		lose   func(t *testing.T, server *zktest.Server, c lock.Contender)
		says   string
	}{
		"that does not hear: expired": {stubborn, nil, expire, ""},
		"expired, with overlap":       {obedient, []string{"--allow-overlap", "--grace", "1h"}, expire, "term\n"},
		"broken": {patient, []string{"--allow-overlap", "--grace", "1h"}, func(t *testing.T, server *zktest.Server, _ lock.Contender) {
			_, status := start(t, "", "lock", "break", "/a", "--yes", "--servers", server.Servers()[0]).end()
			require.Zero(t, status)
			require.NoError(t, os.WriteFile(gone, nil, 0o600))
		}, "term\n"},
		"that does not hear: a partition": {stubborn, []string{"--session-timeout", "20s"}, func(_ *testing.T, server *zktest.Server, c lock.Contender) {
			server.Partition(c.SessionID)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := zktest.Start(t)
			s := client(t, server.Servers()[0])
			p := startScript(t, server, c.script, append([]string{"lock", "run", "/a"}, c.args...)...)
			require.Equal(t, "up", p.line())
			c.lose(t, server, awaitContenders(t, s, "/a", 1)[0])
			out, status := p.end()
			require.Equal(t, 123, status, "%v", &p.log)
			require.Contains(t, out, c.says)
			require.Contains(t, p.log.String(), "lost")
			awaitContenders(t, s, "/a", 0)
		})
	}
}

// The servers fall silent when the loss is known, so a release does not reach them.
func TestALossIsReportedWhileNobodyElseCanHold(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		g := locked(t, s, "/a")
		r := &runner{app: &app{}, grace: time.Hour} // so there is no time left to run the command
		err := r.under(possession{g.Hold, "/a", g.Revoked(), func(ctx context.Context) error {
			t.Server.Partition(s.Status().SessionID)
			return g.Release(ctx)
		}})
		require.Equal(t, statusLost, status(err))
		require.True(t, s.Status().TrustedUntil.After(time.Now()), "it did not wait for the release")
	})
}

// A contender that no session may delete goes with the session, and the program says so.
func TestWhatCannotBeReleasedGoesWithTheSession(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		must(s.Create(bubble.Minute(t), "/a", nil, session.WithNodeACL(session.AnyoneACL(session.PermAll&^session.PermDelete)...)))
		g := locked(t, s, "/a")
		r := &runner{app: &app{out: &printer{Writer: io.Discard}, log: io.Discard}, argv: []string{"sh", "-c", "exit 7"}}
		err := r.under(possession{g.Hold, "/a", g.Revoked(), g.Release})
		require.Equal(t, 7, status(err), "the command's")
		require.EqualError(t, err, "not released: it is free when this session has ended: release /a: context deadline exceeded")
		require.NoError(t, s.Close(bubble.Minute(t)))
		left, _, err := t.Session().Children(bubble.Minute(t), "/a")
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestARevokedCommandIsAskedAndTakesItsTime(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	p := startScript(t, server, strings.Replace(obedient, "exit 0", "exit 6", 1), "lock", "run", "/a")
	require.Equal(t, "up", p.line())
	_, status := start(t, "", "lock", "revoke", "/a", "-y", "--servers", server.Servers()[0]).end()
	require.Zero(t, status)
	require.Equal(t, "term", p.line())
	_, status = p.end()
	require.Equal(t, 6, status, "its own, for the lock was held until then")
}

func TestACommandWhosePlaceIsRevokedIsNotStarted(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s, g := taken(t, server, "/a")
	p := startScript(t, server, "echo up", "lock", "run", "/a")
	require.NoError(t, must(lock.New(s, "/a")).Revoke(t.Context(), awaitContenders(t, s, "/a", 2)[1]))
	require.NoError(t, g.Release(t.Context()))
	out, status := p.end()
	require.Equal(t, 123, status)
	require.NotContains(t, out, "up")
}

// The test's end of the pipe is closed only when the command is gone as well.
func TestOnLinuxTheCommandDiesWithTheProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("Linux alone tells a process of its parent's death")
	}
	p := startScript(t, zktest.Start(t), "echo up; exec sleep 1000", "lock", "run", "/a")
	require.Equal(t, "up", p.line())
	p.signal(syscall.SIGKILL)
	out, _ := p.end()
	require.Empty(t, out)
}

func TestReadersAndPermitsAreHeldTogether(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s := client(t, server.Servers()[0])
	for path, c := range map[string]struct {
		args   []string
		others [][]string
	}{
		"/readers": {[]string{"--shared"}, [][]string{nil}},             // a writer
		"/permits": {[]string{"-n", "2"}, [][]string{{"-n", "2"}, nil}}, // one without a permit, and one that takes it for a lock
	} {
		var both []*running
		for range 2 {
			p := startScript(t, server, "echo up; exec sleep 1000", append([]string{"lock", "run", path}, c.args...)...)
			require.Equal(t, "up", p.line())
			both = append(both, p)
		}
		awaitContenders(t, s, path, 2)
		for _, flags := range c.others {
			other := startScript(t, server, "echo up", append([]string{"lock", "run", path, "--try"}, flags...)...)
			out, status := other.end()
			require.Equal(t, statusNotGot, status, "%s %v: %v", path, flags, &other.log)
			require.Empty(t, out)
		}
		for _, p := range both {
			p.signal(syscall.SIGTERM)
			_, status := p.end()
			require.Equal(t, 128+15, status)
		}
	}
}

func TestACandidateRunsTheCommandOnceATerm(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	s := client(t, server.Servers()[0])
	leader := func() int64 { return awaitContenders(t, s, "/e", 1)[0].SessionID }
	p := startScript(t, server, `trap "exit 8" USR1; echo up; while :; do sleep 0.01; done`, "election", "run", "/e")
	require.Equal(t, "up", p.line())
	server.Expire(leader())
	require.Equal(t, "up", p.line(), "it stands again")
	p.signal(syscall.SIGUSR1)
	_, status := p.end()
	require.Equal(t, 8, status)
	require.Contains(t, p.log.String(), "standing again")

	p = startScript(t, server, stubborn, "election", "run", "/e", "--once")
	require.Equal(t, "up", p.line())
	server.Expire(leader())
	_, status = p.end()
	require.Equal(t, 123, status)
}
