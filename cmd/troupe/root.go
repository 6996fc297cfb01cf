package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// app is one run of the program.
type app struct {
	in       io.Reader
	out      *printer
	log      io.Writer
	terminal bool   // in and out are terminals
	pid      int    // the program's own
	release  func() // lets the next signal end the program at once
	to       connection
	json     bool
	valid    bool                   // the command line was found valid; an error before that is one of usage
	yes      bool                   // confirm does not ask
	at       func(time.Time) string // prints times in a table
}

// root is the program with its commands.
func root(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "troupe",
		Short: "Coordination on Apache ZooKeeper",
		Long: `Troupe's command line: who holds what on a ZooKeeper ensemble, and commands that run under a lock or a leadership.

Each flag of the connection has a variable: --servers TROUPE_SERVERS, --tls-ca-file TROUPE_TLS_CA_FILE, --session-timeout TROUPE_TIMEOUT.
A credential is read from --auth-file, a line "digest user:password", or from TROUPE_AUTH_SCHEME and TROUPE_AUTH_SECRET, never from the command line.`,
		SilenceUsage:  true, // main reports errors, once
		SilenceErrors: true,
		Version:       built().Version,

		PersistentPreRun: func(cmd *cobra.Command, _ []string) { a.valid = cmd.ValidateFlagGroups() == nil }, // else cobra says so next
	}
	cmd.SetVersionTemplate("troupe {{.Version}}\n")
	cmd.SetHelpCommand(help())
	cmd.SetOut(a.out)
	cmd.SetErr(a.log)
	cmd.AddCommand(server(), version(a))
	for _, c := range append(znodes(a), locks(a), elections(a), queues(a), groups(a), values(a), barriers(a), transactions(a), doctor(a), exporter(a)) {
		a.to.bind(c.PersistentFlags())
		a.output(c.PersistentFlags())
		cmd.AddCommand(c)
	}
	foresee(cmd)
	return cmd
}

// foresee lets boolean flags stand before the command. Cobra searches for the command, and takes
// the word behind an unknown flag for the flag's value.
func foresee(cmd *cobra.Command) {
	know := func(f *pflag.Flag) {
		if known := *f; f.NoOptDefVal != "" && cmd.Flag(f.Name) == nil {
			known.Hidden = true
			cmd.Flags().AddFlag(&known)
		}
	}
	for _, sub := range cmd.Commands() {
		foresee(sub)
		sub.Flags().VisitAll(know)
		sub.PersistentFlags().VisitAll(know)
	}
}

// help is cobra's command, but one that is not found is an error.
func help() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage{fmt.Errorf("there is no command %q: troupe help lists them", strings.Join(args, " "))}
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// group is a command that has others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// command connects, and calls do with the session. It takes as many arguments as use names, each in
// one word, the first of them a path; for other numbers the caller sets Args.
func (a *app) command(use, short string, do func(ctx context.Context, s *session.Session, args []string) error) *cobra.Command {
	n := strings.Count(use, " ") // use is "ls PATH", or "set PATH VALUE"
	return &cobra.Command{
		Use: use, Short: short, Args: arguments(n, n),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.at = times[cmd.Name()]; a.at == nil {
				a.at = age
			}
			if err := pathIn(args); err != nil {
				return err
			}
			s, err := a.to.connect(cmd)
			if err != nil {
				return err
			}
			return errors.Join(do(cmd.Context(), s, args), a.to.close(s))
		},
	}
}

// pathIn refuses arguments whose first is no path.
func pathIn(args []string) error {
	for _, path := range args[:min(1, len(args))] {
		if err := znode.Validate(path); err != nil {
			return usage{fmt.Errorf("PATH %q: %w", path, err)}
		}
	}
	return nil
}

// choose returns yes if cond is true, otherwise no.
func choose[T any](cond bool, yes, no T) T {
	if cond {
		return yes
	}
	return no
}

// here is a recipe at a path, and its present state, as functions called …At open it for on.
type here[R, S any] struct {
	recipe R
	now    S
}

// on is a command that calls do with the result of open, such as queueAt, for its path.
func on[T any](
	a *app, use, short string, open func(context.Context, *session.Session, string) (T, error), do func(context.Context, T, []string) error,
) *cobra.Command {
	return a.command(use, short, func(ctx context.Context, s *session.Session, args []string) error {
		opened, err := open(ctx, s, args[0])
		if err != nil {
			return err
		}
		return do(ctx, opened, args)
	})
}

// free is open for a command that only shows: a path that has not been used yet, or whose container
// has gone, is empty, with a message. That a contender's own path has gone stays an error.
func free[T any](a *app, open func(context.Context, *session.Session, string) (T, error)) func(context.Context, *session.Session, string) (T, error) {
	return func(ctx context.Context, s *session.Session, path string) (T, error) {
		opened, err := open(ctx, s, path)
		_, name := znode.Split(path)
		if _, isContender := znode.ParseContender(name); errors.Is(err, session.ErrNoNode) && !isContender {
			fmt.Fprintf(a.log, "%s does not exist\n", escaped(path))
			err = nil
		}
		return opened, err
	}
}

// arguments checks the number of arguments; the error is the usage of the command.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// withYes gives a command the flag --yes. The command's function calls confirm before it changes
// anything: see TestEachCommandWithYesAsks.
func (a *app) withYes(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	return cmd
}

// data are those of an argument: for "-" all of the standard input, or a byte more than a znode may
// have. Empty input may be missing input, so it is an error.
func (a *app) data(arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	a.release()
	data, err := io.ReadAll(io.LimitReader(a.in, int64(a.to.MaxPacket)+1))
	if err == nil && len(data) == 0 {
		err = errors.New(`-: the standard input is empty; an empty value is given as ""`)
	}
	return data, err
}

// confirm asks a person, unless --yes is given; it refuses without a terminal.
func (a *app) confirm(what string, args ...any) error {
	what = fmt.Sprintf(what, args...)
	switch {
	case a.yes:
		return nil
	case !a.terminal:
		return usage{fmt.Errorf("%s: refused without --yes, since there is no terminal to ask on", what)}
	}
	a.release()
	fmt.Fprintf(a.log, "%s? [y/N] ", what)
	var answer string
	if _, err := fmt.Fscanln(a.in, &answer); err != nil || answer != "y" && answer != "Y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}
