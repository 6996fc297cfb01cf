// Command troupe is Troupe's command line: see docs/cli.md.
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
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/session"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // the process itself is the root
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	terminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	a := &app{in: os.Stdin, out: &printer{Writer: os.Stdout}, log: os.Stderr, terminal: terminal, pid: os.Getpid()}
	a.release = func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }
	return a.execute(ctx, root(a))
}

// execute runs the program, says what went wrong, and returns the exit status.
func (a *app) execute(ctx context.Context, cmd *cobra.Command) int {
	a.to.log = logs.Warnings(slog.NewTextHandler(a.log, nil))
	err := cmd.ExecuteContext(ctx)
	logs.Wait(a.to.log)
	if err = cmp.Or(err, a.out.failed); err == nil {
		return 0
	}
	if text := explain(err); text != "" { // else a command that was run has said it
		fmt.Fprintln(a.log, "troupe:", text)
	}
	return status(err)
}

// errUnreachable is why a context ended in which a server was to answer.
var errUnreachable = errors.New("no server has answered")

// failure is an error with an exit status of its own.
type failure struct {
	status int
	error
}

func (f failure) Unwrap() error { return f.error }

// status is the exit status that an error stands for.
func status(err error) int {
	if f, ok := errors.AsType[failure](err); ok {
		return f.status
	}
	return 1
}

// advice is what to try after an error.
var advice = []struct {
	is  error
	try string
}{
	{errUnreachable, "are --servers and --tls-* right, and are the servers up"},
	{session.ErrAuthFailed, "is the credential right, of --auth-file or TROUPE_AUTH_SCHEME and TROUPE_AUTH_SECRET"},
	{session.ErrAuthRequired, "the servers want a credential: --auth-file"},
	{session.ErrNoAuth, "another credential may have the right: --auth-file"},
	{session.ErrNoNode, "are the path and --namespace right: troupe ls shows what is there"},
	{session.ErrTooLarge, "see --max-packet"},
	{session.ErrBadVersion, "it was changed: look at it again"},
	{session.ErrNotEmpty, "something was created below it meanwhile: rm -R deletes that too"},
}

// explain is the one line that the program says at its end, with what to try.
func explain(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	for _, a := range advice {
		if errors.Is(err, a.is) {
			return text + " (" + a.try + ")"
		}
	}
	return text
}

// origin is what this program was built from.
type origin struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"`
	Go       string `json:"go"`
}

func version(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Say what this program was built from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := origin{Version: "unknown"}
			if info, ok := debug.ReadBuildInfo(); ok {
				b.Version, b.Go = info.Main.Version, info.GoVersion
				settings := map[string]string{}
				for _, s := range info.Settings {
					settings[s.Key] = s.Value
				}
				b.Revision, b.Time = settings["vcs.revision"], settings["vcs.time"]
			}
			return show(a, b)
		},
	}
	a.output(cmd.Flags())
	return cmd
}
