package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// serve runs until ctx ends.
func serve(ctx context.Context, out, log io.Writer, f serverFlags) error {
	hangup := make(chan os.Signal, 1)
	if f.dump != "" {
		if err := writable(f.dump); err != nil {
			return fmt.Errorf("--dump %s: not writable: %w", f.dump, err)
		}
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
		if err := dump(context.WithoutCancel(ctx), s, out, f.dump); err != nil { // ctx has ended, but the dump is written
			return fmt.Errorf("--dump: %w", err)
		}
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
			if err := dump(ctx, s, out, name); err != nil && ctx.Err() == nil {
				fmt.Fprintln(log, "troupe: --dump:", err) // a later dump may succeed
			}
		}
	}
}

// build creates the server with its initial tree.
func build(ctx context.Context, out, log io.Writer, f serverFlags) (*zkserver.Server, error) {
	cfg := f.config()
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: map[bool]slog.Level{false: slog.LevelWarn, true: slog.LevelDebug}[f.verbose]}))
	if f.load != "" {
		file, err := os.Open(f.load)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(out, "%s does not exist yet: starting with an empty tree\n", f.load)
		case err != nil:
			return nil, fmt.Errorf("--load: %w", err)
		default:
			defer file.Close()                                          //nolint:errcheck // it was only read
			defer context.AfterFunc(ctx, func() { _ = file.Close() })() // ends the load
			cfg.Tree = file
		}
	}
	s, err := zkserver.New(cfg)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, zkserver.ErrTree) {
		return nil, fmt.Errorf("--load %s: %w", f.load, err)
	}
	return s, err
}

// zxidOf is a process's first zxid. It is larger than all zxids of an earlier process, so no client
// has seen a larger one. Its epoch is the time in seconds, its counter the fraction in steps of
// 1/256.
func zxidOf(now time.Time) int64 {
	past := now.Sub(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	return int64(past/time.Second)<<32 | int64(past%time.Second)*256/int64(time.Second)<<24
}

// listen opens the sockets of all servers, two for localhost with IPv6, and prints the addresses.
func listen(ctx context.Context, s *zkserver.Server, out io.Writer, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	first, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q: %w", port, err)
	}
	local := host == "localhost"
	if local {
		host = "127.0.0.1"
	}
	var all, also []string
	for i := range s.Fronts() {
		if first > 0 {
			port = strconv.FormatUint(first+uint64(i), 10)
		}
		at, err := s.Front(i).Listen(ctx, net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		if all = append(all, at); !local {
			continue
		}
		_, taken, _ := net.SplitHostPort(at) // cannot fail: it is the address of a listener
		too := net.JoinHostPort("::1", taken)
		switch err := s.Front(i).ListenAlso(ctx, too); {
		case err == nil:
			also = append(also, too)
		case errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT): // no IPv6 here
		default:
			return err
		}
	}
	fmt.Fprintf(out, "listening on %s\n", strings.Join(all, ","))
	if len(also) > 0 {
		fmt.Fprintf(out, "and on %s\n", strings.Join(also, ","))
	}
	return nil
}

// writable checks at the start that a file can be written at the end.
func writable(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return errors.New("is a directory")
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// dump writes the server's tree to a file, and says so. The file is either complete or not changed.
func dump(ctx context.Context, s *zkserver.Server, out io.Writer, name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = f.Close() })() // a large file does not delay the end
	if err = errors.Join(s.Save(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	_, err = fmt.Fprintf(out, "wrote %s\n", name)
	return err
}
