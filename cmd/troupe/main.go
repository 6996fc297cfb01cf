// Command troupe is Troupe's command line: see docs/cli.md.
//
// # Which file for which task
//
//   - main.go: exit statuses and advice; root.go: the tree of commands, arguments, confirmation
//   - connection.go: flags of the connection, four-letter words; print.go: tables, JSON, times, escaping
//   - znode.go, config.go, kinds.go, recipes.go, rounds.go: commands that show and change znodes
//   - lock.go, election.go, queue.go: these recipes; run.go, child_*.go: commands under a possession
//   - doctor.go: the examination of servers and znodes, told.go: what servers say; server.go: the embedded server as a process; exporter.go: metrics
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // the process itself is the root
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	terminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	a := &app{in: os.Stdin, out: &printer{Writer: os.Stdout}, log: os.Stderr, terminal: terminal, pid: os.Getpid()}
	a.release = func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }
	return a.execute(ctx, root(a))
}

// execute runs the program, prints its error, and returns the exit status.
func (a *app) execute(ctx context.Context, cmd *cobra.Command) int {
	a.to.log = logs.Warnings(slog.NewTextHandler(a.log, nil))
	err := cmd.ExecuteContext(ctx)
	logs.Wait(a.to.log)
	if _, has := errors.AsType[failure](err); err != nil && !a.valid && !has {
		err = usage{err}
	}
	if err = cmp.Or(err, a.out.failed); err == nil {
		return 0
	}
	if text := explain(err); text != "" { // else the command has printed it
		fmt.Fprintln(a.log, "troupe:", text)
	}
	return status(err)
}

// errUnreachable is the cause of a context that ended before a server answered.
var errUnreachable = errors.New("no server has answered")

// failure is an error with an exit status of its own.
type failure struct {
	status int
	error
}

func (f failure) Unwrap() error { return f.error }

// usage is an error in the command line.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// The exit statuses of all commands but run: see docs/cli.md.
const statusNo, statusUsage, statusDown, statusForbidden, statusMissing, statusTimeout = 1, 2, 3, 4, 5, 124

// statuses are those of errors: the first that errors.Is finds counts.
var statuses = []struct {
	is     error
	status int
}{
	{session.ErrAuthFailed, statusForbidden},
	{session.ErrAuthRequired, statusForbidden},
	{session.ErrNoAuth, statusForbidden},
	{errUnreachable, statusDown},
	{session.ErrInvalidPath, statusUsage},
	{session.ErrNoNode, statusMissing},
	{session.ErrSuspended, statusDown},
	{session.ErrExpired, statusDown},
	{session.ErrClosed, statusDown},
	{session.ErrUnknownOutcome, statusDown},
	{context.DeadlineExceeded, statusTimeout},
}

// status is the exit status for an error.
func status(err error) int {
	if f, ok := errors.AsType[failure](err); ok {
		return f.status
	}
	if _, ok := errors.AsType[usage](err); ok {
		return statusUsage
	}
	for _, s := range statuses {
		if errors.Is(err, s.is) {
			return s.status
		}
	}
	return statusNo
}

// advice has a next step for an error.
var advice = []struct {
	is  error
	try string
}{
	{errUnreachable, "are --servers and --tls-* right, and are the servers up: troupe doctor asks each"},
	{lock.ErrHeld, "or, after a holder that died, delayed: troupe lock ls tells"},
	{session.ErrAuthFailed, "is the credential right, of --auth-file or TROUPE_AUTH_SCHEME and TROUPE_AUTH_SECRET"},
	{session.ErrAuthRequired, "the servers want a credential: --auth-file"},
	{session.ErrNoAuth, "another credential may have the right: --auth-file"},
	{errID, "troupe queue ls shows the items, troupe queue dead the dead letters"},
	{session.ErrNoNode, "are the path and --namespace right: troupe ls shows what is there"},
	{session.ErrTooLarge, "see --max-packet"},
	{session.ErrBadVersion, "it was changed: look at it again"},
	{session.ErrNotEmpty, "something was created below it meanwhile: rm -R deletes that too"},
}

// explain is the text of an error at the program's end, with advice.
func explain(err error) string {
	text := printable([]byte(err.Error()))
	for _, a := range advice {
		if errors.Is(err, a.is) {
			return text + " (" + a.try + ")"
		}
	}
	return text
}

// origin is the version that this program was built from.
type origin struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"`
	Go       string `json:"go"`
}

func built() origin {
	b := origin{Version: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version, b.Go = info.Main.Version, info.GoVersion
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		b.Revision, b.Time = settings["vcs.revision"], settings["vcs.time"]
	}
	return b
}

func version(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Say what this program was built from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return show(a, built()) },
	}
	a.output(cmd.Flags())
	return cmd
}
