package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// goSource returns the source tree of the Go installation, about ten thousand files that every
// machine with Go has.
func goSource(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", errors.New("the Go source tree was not found: give a directory with -dir")
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src"), nil
}

// listFiles returns every regular file below a directory, as sorted slash-separated paths. It skips
// what cannot be listed; the serial run does the same.
func listFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == dir:
			return err
		case err == nil && entry.Type().IsRegular():
			rel, err := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// hashFile computes the digest of one file.
func hashFile(dir, path string) digest {
	d := digest{Path: path, Sum: unreadable}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return d
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if n, err := io.Copy(h, f); err == nil {
		d.Size, d.Sum = n, hex.EncodeToString(h.Sum(nil))
	}
	return d
}

// hashSerially hashes all files in this process, one after the other. The pool's result is compared
// with it.
func hashSerially(ctx context.Context, dir string) ([]digest, error) {
	files, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	digests := make([]digest, 0, len(files))
	for _, f := range files {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		digests = append(digests, hashFile(dir, f))
	}
	return digests, nil
}
