package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// writable checks at the start, and not only at the end, that a file can be written.
func writable(name string) error {
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return errors.New("is a directory")
	}
	f, err := beside(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// beside creates a temporary file in the directory of the named file, which it can replace.
func beside(name string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
}

// dump writes the server's tree to a file. The file is either complete or not changed.
func dump(ctx context.Context, s *zkserver.Server, name string) error {
	f, err := beside(name)
	if err != nil {
		return err
	}
	err = s.Save(&until{ctx: ctx, w: f})
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// until reads or writes until a context ends, so that a large file does not delay the end of the
// process.
type until struct {
	ctx context.Context
	r   io.Reader
	w   io.Writer
}

func (u *until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

func (u *until) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(b)
}
