package plain_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tempdir"
	"github.com/troupe-go/troupe/interop"
)

// driver is a process that speaks for Curator: see interop/testdata/java/Driver.java.
type driver struct {
	folder  *tempdir.Folder
	command *exec.Cmd
	stdin   io.WriteCloser

	mu      sync.Mutex
	no      int
	answers map[string]chan string
}

var curator = sync.OnceValues(func() (*driver, error) {
	java, err := interop.FindJava()
	if err != nil {
		return nil, err
	}
	d := &driver{answers: make(map[string]chan string)}
	if d.folder, err = tempdir.New("troupe-plain"); err != nil {
		return nil, err
	}
	started = d
	sources, err := filepath.Glob("../../../../interop/testdata/java/*.java")
	if err != nil {
		return nil, err
	}
	args := append([]string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none", "-cp", java.ClassPath, "-d", d.folder.Path()}, sources...)
	if out, err := exec.Command(java.Javac, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("javac: %w\n%s", err, out)
	}
	d.command = exec.Command(java.Java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", java.ClassPath+string(filepath.ListSeparator)+d.folder.Path(), "Driver")
	if d.stdin, err = d.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	go d.read(stdout) // ends with the process
	return d, nil
})

// started is the driver, once somebody has used it.
var started *driver

// stop ends the process, which halts at the end of its input.
func (d *driver) stop() {
	if d == nil {
		return
	}
	if d.command != nil && d.command.Process != nil {
		_ = d.stdin.Close()
		_ = d.command.Wait()
	}
	d.folder.Remove()
}

// theirs is the driver, for a test that needs Curator.
func theirs(t *testing.T) *driver {
	t.Helper()
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skip("it needs Curator, which -short leaves out")
	}
	if _, missing := interop.FindJava(); missing != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	d, err := curator()
	require.NoError(t, err)
	return d
}

func (d *driver) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		tag, answer, _ := strings.Cut(lines.Text(), "\t")
		d.mu.Lock()
		if c := d.answers[tag]; c != nil {
			c <- answer
		}
		delete(d.answers, tag)
		d.mu.Unlock()
	}
}

// call has a request carried out, and returns the values of the answer.
func (d *driver) call(t testing.TB, target, verb string, args ...string) []string {
	t.Helper()
	answer := make(chan string, 1)
	d.mu.Lock()
	d.no++
	tag := fmt.Sprint(d.no)
	d.answers[tag] = answer
	_, err := io.WriteString(d.stdin, strings.Join(append([]string{tag, target, verb}, args...), "\t")+"\n")
	d.mu.Unlock()
	require.NoError(t, err)
	words := strings.Split(<-answer, "\t")
	require.Equal(t, "ok", words[0], words)
	return words[1:]
}
