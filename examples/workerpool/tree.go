package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree has the files of a directory, in batches. Every process lists the same: the directory must
// not change during the run.
type tree struct {
	dir   string
	files []string
}

// list lists a directory, without folders that cannot be listed. "" is the source tree of the Go
// installation, some ten thousand files that every machine with Go has.
func list(dir string) (tree, error) {
	if dir == "" {
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return tree{}, errors.New("the Go source tree was not found: give a directory with -dir")
		}
		dir = filepath.Join(strings.TrimSpace(string(root)), "src")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return tree{}, err
	}
	t := tree{dir: dir}
	return t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == dir:
			return err
		case err == nil && entry.Type().IsRegular():
			t.files = append(t.files, path)
		}
		return nil
	})
}

// size is the number of files in a batch: there are about 500 batches, each of which fits into a
// znode.
func (t tree) size() int { return min(max(len(t.files)/500, 1), 2000) }

func (t tree) batches() int { return (len(t.files) + t.size() - 1) / t.size() }

// hash returns the digests of a batch's files.
func (t tree) hash(batch int) []string {
	var sums []string
	for _, path := range t.files[batch*t.size() : min((batch+1)*t.size(), len(t.files))] {
		sums = append(sums, digest(path))
	}
	return sums
}

func digest(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer f.Close() //nolint:errcheck // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(h.Sum(nil))
}
