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
		return fmt.Errorf("--dump %s: it can't be written: %w", f.dump, err)
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
	defer s.Close() //nolint:errcheck // for the errors below; the last one is looked at
	if err := listen(ctx, s, out, f.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if err := attend(ctx, s, out, log, hangup, f.dump); err != nil {
		return err
	}
	if err := s.Close(); err != nil { // first, so that nobody changes the tree any more
		return err
	}
	if f.dump != "" {
		if err := dump(context.WithoutCancel(ctx), s, f.dump); err != nil { // the end of ctx is why it is written
			return fmt.Errorf("--dump: %w", err)
		}
		fmt.Fprintf(out, "wrote %s\n", f.dump)
	}
	fmt.Fprintln(out, "stopped")
	return nil
}

// attend waits for the end, and writes a dump at each SIGHUP until then.
func attend(ctx context.Context, s *zkserver.Server, out, log io.Writer, hangup <-chan os.Signal, name string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Failed():
			return fmt.Errorf("--data: %w", s.Err())
		case <-hangup:
			err := dump(ctx, s, name)
			switch {
			case err == nil:
				fmt.Fprintf(out, "wrote %s\n", name)
			case ctx.Err() == nil:
				fmt.Fprintln(log, "troupe: --dump:", err) // it may be written at the end, or at the next one
			}
		}
	}
}

// build makes the server that the flags ask for, with what it begins with.
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
			fmt.Fprintf(out, "there is no %s yet: beginning with an empty tree\n", f.load)
		case err != nil:
			return nil, fmt.Errorf("--load: %w", err)
		default:
			defer file.Close() //nolint:errcheck // it was only read
			cfg.Tree = &until{ctx: ctx, r: file}
		}
	}
	s, err := zkserver.New(cfg)
	switch {
	case errors.Is(err, zkserver.ErrTree):
		return nil, fmt.Errorf("--load %s: %w", f.load, err)
	case errors.Is(err, zkserver.ErrData):
		return nil, fmt.Errorf("--data %s: %w", f.data, err)
	}
	return s, err
}

// zxidOf is where a process that begins now begins to count, so that no client has seen a later
// zxid of an earlier one: its epoch is the time in seconds, and where it begins in the epoch is the
// fraction, to 1/256. (A process would have to serve four thousand million writes a second to run
// ahead of that.)
func zxidOf(now time.Time) int64 {
	past := now.Sub(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	return int64(past/time.Second)<<32 | int64(past%time.Second)*256/int64(time.Second)<<24
}
