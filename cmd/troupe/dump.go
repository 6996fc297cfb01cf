package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// writable finds out at the beginning, not at the end, that a file can't be written.
func writable(name string) error {
	if name == "" {
		return nil
	}
	f, err := beside(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// beside makes a file that can take another one's place.
func beside(name string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
}

// dump writes the tree to a file that is there either whole or not at all.
func dump(s *zkserver.Server, name string) error {
	text, err := s.WriteTree(name)
	if err != nil {
		return err
	}
	f, err := beside(name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
