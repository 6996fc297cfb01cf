package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// The exit statuses of run that are not the command's.
const statusLost, statusNotGot, statusOurs = 123, 124, 125

// errNone is a failure without a message.
var errNone = errors.New("")

// runHelp is the help that all runs share.
const runHelp = `Flags stand before "--". CMD is started without a shell. It has this program's input, output and environment, with TROUPE_PATH and
TROUPE_TOKEN. Unless its input is a terminal it has a process group of its own, which gets SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
SIGUSR2 in this program's place; on a terminal signals to CMD do not reach its children. One that comes before CMD runs ends the wait.

When the servers have not been heard of for so long that only --grace is left until a rival could hold as well, CMD gets SIGTERM, and SIGKILL
when that is over, so that it has ended by then, under the conditions of docs/sessions.md. --grace is at most a sixth of the session timeout.
With --allow-overlap it may be longer: SIGTERM then comes when possession is lost, and a rival may be at work before SIGKILL does. If a server
says that the session is over already, SIGKILL comes at once. A "revoke" sends SIGTERM, and lets CMD take its time.

Not covered, so let what CMD works on check TROUPE_TOKEN, which grows with each holder: a "break" (a rival may hold before SIGTERM comes), this
program being stopped (SIGSTOP) or starved, and processes of CMD that leave its group. On Linux CMD gets SIGKILL when this program dies, even
by SIGKILL; its children do not. On other systems CMD goes on in that case. As process 1 of a container this program logs a warning, since
it does not reap orphans: use an init, as with docker run --init.

The exit status is CMD's own, 128+n if signal n ended it or the wait for it; 126: CMD cannot be started, 127: not found, 123: lost, 124: not
got, with --try or --timeout, 125: anything else, as no server.`

// runner runs a command under a possession.
type runner struct {
	*app
	argv    []string
	signals chan os.Signal // those that this program gets
	told    syscall.Signal // the one that told it to end; 0: not yet

	grace   time.Duration // the flags: see runHelp
	overlap bool
	try     bool
	timeout time.Duration // 0: none; not with try
	name    string
	data    string
}

// runs is a command of troupe that runs another program.
func (a *app) runs(short, long string, do func(ctx context.Context, s *session.Session, r *runner, path string) error) *cobra.Command {
	r := &runner{app: a, signals: make(chan os.Signal, len(passed))}
	cmd := &cobra.Command{
		Use: "run [flags] PATH -- CMD...", Short: short, Long: long + "\n\n" + runHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return failure{statusOurs, fmt.Errorf("usage: %s", cmd.UseLine())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := r.run(cmd, args, do)
			if _, told := errors.AsType[failure](err); err == nil || told {
				return err
			}
			return failure{statusOurs, err}
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return failure{statusOurs, err} })
	flags := cmd.Flags()
	flags.BoolVar(&r.try, "try", false, "do not wait")
	flags.DurationVar(&r.timeout, "timeout", 0, "wait for no longer than this (default for ever)")
	flags.StringVar(&r.name, "name", "", "who this is, for others to see as the owner")
	flags.StringVar(&r.data, "data", "", "text for others to see, such as what it is for")
	flags.BoolVar(&r.to.quiet, "quiet", false, "no warnings, and not a word if it is not got: the exit status tells")
	flags.DurationVar(&r.grace, "grace", 0, "time for CMD from SIGTERM to SIGKILL at a loss (default a twelfth of the session timeout)")
	flags.BoolVar(&r.overlap, "allow-overlap", false, "--grace may last into another's possession")
	return cmd
}

// run calls do with a session, once the flags are found to fit its timeout T. A grace is at most
// T/6, since a server that does not answer is left when so much trust remains.
func (r *runner) run(cmd *cobra.Command, args []string, do func(ctx context.Context, s *session.Session, r *runner, path string) error) error {
	if _, err := exec.LookPath(args[1]); err != nil {
		return notStarted(err)
	}
	if err := pathIn(args); err != nil {
		return err
	}
	if r.pid == 1 && !r.to.quiet {
		r.to.log.Warn("this is process 1, and it reaps no orphans: run it under an init, as with docker run --init")
	}
	flags := cmd.Flags()
	switch {
	case flags.Changed("try") && flags.Changed("timeout"):
		return errors.New("--try and --timeout: only one of them")
	case flags.Changed("timeout") && r.timeout <= 0:
		return errors.New("--timeout: must be positive")
	case flags.Changed("name"):
		r.to.options = append(r.to.options, session.WithIdentity(r.name))
	}
	r.argv = args[1:]
	signal.Notify(r.signals, slices.DeleteFunc(slices.Clone(passed), signal.Ignored)...) // as by nohup
	defer signal.Stop(r.signals)
	ctx := context.WithoutCancel(cmd.Context()) // signals come by r.signals
	s, err := await(ctx, r, func(ctx context.Context) (*session.Session, error) {
		cmd.SetContext(ctx)
		return r.to.connect(cmd)
	})
	if err != nil {
		return err
	}
	defer func() { _ = r.to.close(s) }() // the possession has been released, or its release has been sent
	timeout := s.Status().Timeout
	if !flags.Changed("grace") {
		r.grace = timeout / 12
	}
	if most := (timeout / 6).Truncate(time.Millisecond); r.grace < 0 || r.grace > most && !r.overlap {
		return fmt.Errorf("--grace %v: not between 0 and %v, a sixth of the session timeout (try a longer --session-timeout, or --allow-overlap)", r.grace, most)
	}
	return do(ctx, s, r, args[0])
}

// await calls f with a context that ends with the first signal.
func await[T any](ctx context.Context, r *runner, f func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	idle := make(chan struct{})
	go func() { // ends with ctx
		defer close(idle)
		select {
		case sig := <-r.signals:
			r.told, _ = sig.(syscall.Signal)
			cancel()
		case <-ctx.Done():
		}
	}()
	if r.told != 0 {
		cancel()
	}
	won, err := f(ctx)
	cancel()
	<-idle
	if err != nil && r.told != 0 {
		err = r.givenUp()
	}
	return won, err
}

// win is await with the limits of --try and --timeout, which have an exit status of their own.
func win[T any](ctx context.Context, r *runner, status int, get func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.timeout, math.MaxInt64), errNotGot)
	defer cancel()
	won, err := await(ctx, r, get)
	if errors.Is(err, errNotGot) || errors.Is(err, errLed) || errors.Is(err, lock.ErrHeld) {
		err = failure{status, choose(r.to.quiet, errNone, err)}
	}
	return won, err
}

// The reasons for which win ends a wait.
var errNotGot, errLed error = timeoutError{errors.New("not got in the time of --timeout")}, errors.New("another leads")

// timeoutError is the end of a limited wait. Its text says so if there was no connection.
type timeoutError struct{ error }

func (timeoutError) Is(err error) bool { return err == context.DeadlineExceeded }

func (r *runner) givenUp() error {
	return failure{128 + int(r.told), fmt.Errorf("given up: %v", r.told)}
}

// possession is a grant or a term that a command runs under.
type possession struct {
	*session.Hold
	path    string
	revoked <-chan struct{}
	release func(ctx context.Context) error
}

// under runs the command, then releases the possession. Its error is the first of: a failure with a
// message; a loss that the release finds; a failed release, with the command's status; that status.
func (r *runner) under(p possession, env ...string) error {
	var err error
	data, _, _ := p.Session().Get(p.Context(), p.Path()) // p.revoked may close a moment later
	switch {
	case p.revoked != nil && znode.Revoked(data): // while it waited
		err = failure{statusLost, errors.New("the lock was revoked before the command was started")}
	case r.told != 0:
		err = r.givenUp()
	case !p.Valid() || !r.overlap && r.spare(p) <= 0:
		err = failure{statusLost, errUntrusted}
	default:
		c, failed := r.spawn(r.argv, append(env, "TROUPE_PATH="+p.path, fmt.Sprint("TROUPE_TOKEN=", p.Token()))...)
		if err = notStarted(failed); failed == nil {
			err = r.attend(c, p)
		}
	}
	most := p.Session().Status().Timeout
	if errors.Is(err, session.ErrLost) {
		most = time.Second // the znode goes with the session, if not now
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	switch left := p.release(ctx); {
	case left == nil || err != nil && !errors.Is(err, errNone):
		return err
	case errors.Is(left, session.ErrLost):
		return failure{statusLost, left}
	default:
		f, _ := errors.AsType[failure](err)
		return failure{f.status, fmt.Errorf("not released: it is free when this session has ended: %w", left)}
	}
}

var errUntrusted = fmt.Errorf("%w: %w", session.ErrLost, session.ErrUntrusted)

// spare returns the time until the command must get SIGTERM, if no server answers any more.
func (r *runner) spare(p possession) time.Duration {
	return time.Until(p.Session().Status().TrustedUntil) - r.grace
}

// attend waits for the end of the command, and passes signals on to it. Meanwhile:
//
//	asked to let go          SIGTERM, and all the time that it takes
//	trust is running out     SIGTERM, and SIGKILL after the grace; not with --allow-overlap
//	the znode is deleted     the same
//	the possession is lost   SIGKILL at once; with --allow-overlap SIGTERM, and SIGKILL after the grace
func (r *runner) attend(c *child, p possession) error {
	spare := time.NewTimer(r.spare(p))
	defer spare.Stop()
	if r.overlap {
		spare.Stop()
	}
	var lost error
	var kill <-chan time.Time
	end := func(cause error, grace time.Duration) {
		if lost == nil && grace > 0 {
			c.signal(syscall.SIGTERM)
		}
		lost, kill = cause, time.After(grace)
	}
	done, revoked := p.Done(), p.revoked
	for {
		select {
		case how := <-c.ended:
			if lost != nil {
				c.signal(syscall.SIGKILL) // the rest of its group
				return failure{statusLost, lost}
			}
			return exited(how)
		case sig := <-r.signals:
			s, _ := sig.(syscall.Signal)
			if s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGQUIT {
				r.told = s
			}
			c.pass(s)
		case <-revoked:
			revoked = nil
			c.signal(syscall.SIGTERM)
		case <-spare.C:
			if left := r.spare(p); left > 0 {
				spare.Reset(left)
			} else if lost == nil {
				end(errUntrusted, r.grace)
			}
		case <-done:
			done = nil
			if !r.overlap && !errors.Is(p.Err(), session.ErrDeleted) {
				end(p.Err(), 0)
			} else if lost == nil {
				end(p.Err(), r.grace)
			}
		case <-kill:
			c.signal(syscall.SIGKILL)
		}
	}
}

// child is a command that runs.
type child struct {
	cmd   *exec.Cmd
	group bool       // it is the leader of a process group of its own
	ended chan error // receives the result of Wait
}

// spawn starts a command with the program's own input and output. On a terminal it stays in the
// program's process group, since others may not read from there.
func (a *app) spawn(argv []string, env ...string) (*child, error) {
	file, ok := a.in.(*os.File)
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), group: !ok || !term.IsTerminal(int(file.Fd())), ended: make(chan error, 1)}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = a.in, a.out.Writer, a.log
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.SysProcAttr = attributes(c.group)
	started := make(chan error)
	go func() { // ends with the command
		runtime.LockOSThread() // Linux counts the end of the thread that started the command as its parent's
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.ended <- c.cmd.Wait()
		}
	}()
	return c, <-started
}

// notStarted returns the error of a command that cannot be started, with a shell's status for it.
func notStarted(err error) error {
	missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
	return failure{choose(missing, 127, 126), err}
}

// exited returns the error of a command that has ended; nil after success.
func exited(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return failure{128 + int(s.Signal()), errNone}
	}
	return failure{exit.ExitCode(), errNone}
}
