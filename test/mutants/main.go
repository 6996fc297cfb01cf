// Command mutants proves that the tests catch the defects that they are there for. It breaks the
// code on purpose, in one place at a time, and runs the gate's tests of the packages that must
// notice. A mutant that survives is a failure; so is one that does not compile, or whose snippet is
// not found exactly once. Arguments choose mutants by a part of their names; one that chooses none
// is an error, with status 2. With -overlay FILE it only writes the overlay of the first one
// chosen, for another build: `go build -overlay FILE`.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant is a build that is broken on purpose.
type mutant struct {
	name     string
	file     string
	snippet  string   // of the file, in which it is once
	instead  string   // the text in place of the snippet
	packages []string // their tests must catch the mutant
}

func main() {
	only := flag.String("overlay", "", "the file to write the overlay to")
	flag.Parse()
	if err := known(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if err := run(os.Stdout, *only, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, only string, parts []string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	began, lives := time.Now(), 0 // lives: mutants that were not caught
	for _, m := range mutants {
		if !chosen(m.name, parts) {
			continue
		}
		if only != "" {
			return m.overlay(only)
		}
		start := time.Now()
		caught, err := m.caught(dir)
		seconds := time.Since(start).Round(time.Second)
		switch {
		case err != nil:
			lives++
			fmt.Fprintf(out, "FAILED  %-58s %5v  %v\n", m.name, seconds, err)
		case len(caught) == 0:
			lives++
			fmt.Fprintf(out, "LIVES   %-58s %5v  %s\n", m.name, seconds, strings.Join(m.packages, " "))
		default:
			fmt.Fprintf(out, "caught  %-58s %5v  %s\n", m.name, seconds, summary(caught))
		}
	}
	fmt.Fprintf(out, "%v in all\n", time.Since(began).Round(time.Second))
	if lives > 0 {
		return fmt.Errorf("%d were not caught", lives)
	}
	return nil
}

// known fails if one of the arguments is part of no mutant's name.
func known(parts []string) error {
	for _, part := range parts {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return strings.Contains(m.name, part) }) {
			return fmt.Errorf("no mutant's name contains %q", part)
		}
	}
	return nil
}

func chosen(name string, parts []string) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// caught runs the tests with the code broken, and returns the names of those that failed.
func (m mutant) caught(dir string) ([]string, error) {
	overlay := filepath.Join(dir, "overlay.json")
	if err := m.overlay(overlay); err != nil {
		return nil, err
	}
	var caught []string
	for _, p := range m.packages {
		found, err := test(overlay, p)
		if err != nil {
			return nil, err
		}
		caught = append(caught, found...)
	}
	return caught, nil
}

// overlay writes the broken source, and the file by which the go command takes it in place of the
// proper one.
func (m mutant) overlay(to string) error {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	if n := bytes.Count(source, []byte(m.snippet)); n != 1 {
		return fmt.Errorf("%s: the snippet is found %d times", m.file, n)
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return err
	}
	broken, err := filepath.Abs(to + ".go")
	if err != nil {
		return err
	}
	if err := os.WriteFile(broken, bytes.Replace(source, []byte(m.snippet), []byte(m.instead), 1), 0o600); err != nil {
		return err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		return err
	}
	return os.WriteFile(to, replace, 0o600)
}

var fails = regexp.MustCompile(`(?m)^--- FAIL: (\S+)|^(panic: test timed out)`)

// test runs a package's tests, and returns the names of those that failed or did not end.
func test(overlay, folder string) (caught []string, err error) {
	cmd := exec.Command("go", "test", "-trimpath", "-count=1", "-timeout=3m", "-overlay", overlay, folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "TROUPE_TIER=", "TROUPE_SEED=")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil, nil
	}
	for _, found := range fails.FindAllSubmatch(out, -1) {
		caught = append(caught, string(found[1])+string(found[2]))
	}
	if len(caught) == 0 || bytes.Contains(out, []byte("[build failed]")) {
		return nil, fmt.Errorf("%s: no test has failed, but the run:\n%s", folder, tail(out, 2000))
	}
	return caught, nil
}

func tail(out []byte, n int) []byte { return out[max(0, len(out)-n):] }

// summary names the first few tests.
func summary(caught []string) string {
	const shown = 4
	if len(caught) <= shown {
		return strings.Join(caught, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(caught[:shown], " "), len(caught)-shown)
}
