package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// serve runs until ctx ends.
func serve(ctx context.Context, out, log io.Writer, f serverFlags) error {
	if err := writable(f.dump); err != nil {
		return fmt.Errorf("--dump %s: not writable: %w", f.dump, err)
	}
	hangup := make(chan os.Signal, 1)
	if f.dump != "" {
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	}
	s, err := build(ctx, out, log, f)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // only for the returns with an error; the last Close is checked
	if err := listen(ctx, s, out, f.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	attend(ctx, s, out, log, hangup, f.dump)
	if err := s.Close(); err != nil { // before the dump, so that the tree no longer changes
		return err
	}
	if f.dump != "" {
		if err := dump(context.WithoutCancel(ctx), s, f.dump); err != nil { // ctx has ended, but the dump is written
			return fmt.Errorf("--dump: %w", err)
		}
		fmt.Fprintf(out, "wrote %s\n", f.dump)
	}
	fmt.Fprintln(out, "stopped")
	return nil
}

// attend returns when ctx ends, and writes a dump at each SIGHUP until then.
func attend(ctx context.Context, s *zkserver.Server, out, log io.Writer, hangup <-chan os.Signal, name string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			err := dump(ctx, s, name)
			switch {
			case err == nil:
				fmt.Fprintf(out, "wrote %s\n", name)
			case ctx.Err() == nil:
				fmt.Fprintln(log, "troupe: --dump:", err) // a later dump may succeed
			}
		}
	}
}

// build creates the server with its initial tree.
func build(ctx context.Context, out, log io.Writer, f serverFlags) (*zkserver.Server, error) {
	cfg := f.config()
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	}
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	if f.load != "" {
		file, err := os.Open(f.load)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(out, "%s does not exist yet: starting with an empty tree\n", f.load)
		case err != nil:
			return nil, fmt.Errorf("--load: %w", err)
		default:
			defer file.Close() //nolint:errcheck // it was only read
			cfg.Tree = &until{ctx: ctx, r: file}
		}
	}
	s, err := zkserver.New(cfg)
	if errors.Is(err, zkserver.ErrTree) {
		return nil, fmt.Errorf("--load %s: %w", f.load, err)
	}
	return s, err
}

// zxidOf returns the first zxid of a process that starts now. It is larger than every zxid of an
// earlier process, so that no client has seen a later one: the zxid's epoch is the time in seconds,
// and the counter starts at the fraction of the second, in steps of 1/256. (Only a process with
// four thousand million writes per second would overtake it.)
func zxidOf(now time.Time) int64 {
	past := now.Sub(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	return int64(past/time.Second)<<32 | int64(past%time.Second)*256/int64(time.Second)<<24
}
