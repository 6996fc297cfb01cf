package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binary is what a program links.
type binary struct {
	packages int // without those of the standard library, which each release of Go changes
	modules  int // with this one
	bytes    int64
}

// build builds a command for one platform, without symbols and without anything of this machine, so
// that the same source and the same Go make the same bytes each time.
func build(root, command string) (b binary, err error) {
	list, err := plain(root, "list", "-deps", "-f", "{{if not .Standard}}{{.Module.Path}}{{end}}", command)
	if err != nil {
		return b, err
	}
	modules := make(map[string]struct{})
	for module := range strings.FieldsSeq(list) {
		b.packages++
		modules[module] = struct{}{}
	}
	b.modules = len(modules)
	dir, err := os.MkdirTemp("", "linked")
	if err != nil {
		return b, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // its size is known
	name := filepath.Join(dir, "program")
	if _, err := plain(root, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", name, command); err != nil {
		return b, err
	}
	info, err := os.Stat(name)
	if err == nil {
		b.bytes = info.Size()
	}
	return b, err
}

// plain runs the command go for one platform, whatever this one is.
func plain(root string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "CGO_ENABLED=0")
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errors.String())
	}
	return string(out), nil
}

// countLinked prints what a program with a session and a lock links, beside its limits.
func countLinked(out io.Writer, b binary) (over []string) {
	fmt.Fprintln(out, "\na program with a session and a lock")
	for _, row := range []struct {
		name         string
		today, limit int64
	}{
		{"packages that are not Go's", int64(b.packages), linkedPackages},
		{"modules", int64(b.modules), linkedModules},
		{"bytes", b.bytes, linkedBytes},
	} {
		fmt.Fprintf(out, "%-36s %8d %8d\n", row.name, row.today, row.limit)
		if row.today > row.limit {
			over = append(over, fmt.Sprintf("a program with a session and a lock: %d %s, of %d (docs/decisions/0049)", row.today, row.name, row.limit))
		}
	}
	return over
}
