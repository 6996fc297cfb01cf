package interop_test

// The processes that speak for other libraries: where they are, how they are started, once for all
// tests, and their protocol, line by line.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tempdir"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/interop"
)

// patience bounds all waits of a test: a busy machine may be slow, but a queue that is stuck stays
// stuck.
const patience = time.Minute

// driver is a process that speaks for a client library: see testdata/java/Driver.java for the
// protocol.
type driver struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	log     *logged
	gone    chan struct{} // closed when the process has ended, and its output has been read

	mu     sync.Mutex
	calls  map[string]chan reply // those without an answer, by tag
	events map[string]chan string
	sent   int // requests; the next tag

	writing sync.Mutex // a request is written in one piece
}

// reply is the answer to a request: values, or the name of an error.
type reply struct {
	values []string
	err    string
}

// logged is the standard error of a process.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.text.String()
	return s[max(0, len(s)-4000):]
}

func startDriver(command *exec.Cmd) (*driver, error) {
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d := &driver{
		command: command, stdin: stdin, log: &logged{}, gone: make(chan struct{}),
		calls: map[string]chan reply{}, events: map[string]chan string{},
	}
	command.Stderr = d.log
	if err := command.Start(); err != nil {
		return nil, err
	}
	go d.read(stdout) // the driver's, until the process ends
	return d, nil
}

// stop ends the process: drivers halt at the end of their input.
func (d *driver) stop() {
	_ = d.stdin.Close()
	select {
	case <-d.gone:
	case <-time.After(patience):
		_ = d.command.Process.Kill()
		<-d.gone
	}
	_ = d.command.Wait() // the answers had its errors
}

func (d *driver) read(stdout io.Reader) {
	defer close(d.gone)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		if len(words) < 3 && words[0] == "!" || len(words) < 2 {
			_, _ = fmt.Fprintf(d.log, "not a line of the protocol: %q\n", lines.Text())
			continue
		}
		if words[0] == "!" {
			d.event(words[1], words[2], strings.Join(words[3:], " "))
			continue
		}
		d.mu.Lock()
		answer := d.calls[words[0]]
		delete(d.calls, words[0])
		d.mu.Unlock()
		if answer == nil {
			continue
		}
		if words[1] == "ok" {
			answer <- reply{values: words[2:]}
		} else {
			answer <- reply{err: strings.Join(words[2:], " ")}
		}
	}
}

func (d *driver) event(target, kind, text string) {
	select {
	case d.feed(target, kind) <- text:
	default:
		_, _ = fmt.Fprintf(d.log, "nobody takes the events of %s: %s %s\n", target, kind, text)
	}
}

// feed is where a target's events of one kind arrive, in their order.
func (d *driver) feed(target, kind string) chan string {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := target + "\t" + kind
	if d.events[key] == nil {
		d.events[key] = make(chan string, 256)
	}
	return d.events[key]
}

// send has a request carried out; the channel has its one answer.
func (d *driver) send(target, verb string, args ...string) <-chan reply {
	answer := make(chan reply, 1)
	d.mu.Lock()
	d.sent++
	tag := strconv.Itoa(d.sent)
	d.calls[tag] = answer
	d.mu.Unlock()
	d.writing.Lock()
	defer d.writing.Unlock()
	line := strings.Join(append([]string{tag, target, verb}, args...), "\t")
	if _, err := io.WriteString(d.stdin, line+"\n"); err != nil {
		answer <- reply{err: err.Error()}
	}
	return answer
}

// call waits for the answer.
func (d *driver) call(target, verb string, args ...string) reply {
	return d.wait(d.send(target, verb, args...), target+" "+verb+" "+strings.Join(args, " "))
}

func (d *driver) wait(answer <-chan reply, what string) reply {
	select {
	case r := <-answer:
		return r
	case <-d.gone:
		return reply{err: "the process has ended: " + d.log.tail()}
	case <-time.After(patience):
		return reply{err: fmt.Sprintf("no answer within %v: %s\n%s", patience, what, d.log.tail())}
	}
}

// shared is a driver that all tests use: a virtual machine is too slow to start for each of them.
type shared struct {
	mu     sync.Mutex
	made   bool
	driver *driver
	folder *tempdir.Folder // of what was compiled
	err    error           // it is not here, or could not be started
	start  func(folder string) (*driver, error)
}

func (s *shared) get(t *testing.T) *driver {
	t.Helper()
	tier.Real(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made {
		s.made = true
		if s.folder, s.err = tempdir.New("troupe-interop"); s.err == nil {
			s.driver, s.err = s.start(s.folder.Path())
		}
	}
	require.NoError(t, s.err)
	return s.driver
}

var (
	javaDriver = &shared{
		start: func(folder string) (*driver, error) {
			java, err := interop.FindJava()
			if err != nil {
				return nil, err
			}
			sources, err := filepath.Glob("testdata/java/*.java")
			if err != nil {
				return nil, err
			}
			args := append([]string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none", "-Xlint:all,-path", "-Werror", "-cp", java.ClassPath, "-d", folder}, sources...)
			if out, err := exec.Command(java.Javac, args...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("javac: %w\n%s", err, out)
			}
			return startDriver(exec.Command(java.Java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
				"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dcurator-dont-log-connection-problems=true",
				"-cp", java.ClassPath+string(filepath.ListSeparator)+folder, "Driver"))
		},
	}
	kazooDriver = &shared{
		start: func(string) (*driver, error) {
			python, err := interop.FindKazoo()
			if err != nil {
				return nil, err
			}
			return startDriver(exec.Command(python, "testdata/python/driver.py"))
		},
	}
	cDriver = &shared{
		start: func(folder string) (*driver, error) {
			cc, err := interop.FindC()
			if err != nil {
				return nil, err
			}
			program := filepath.Join(folder, "driver")
			args := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-DTHREADED", "-o", program, "testdata/c/driver.c", "-lzookeeper_mt", "-pthread"}
			if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("cc: %w\n%s", err, out)
			}
			return startDriver(exec.Command(program))
		},
	}
)

func stopShared() {
	if started != nil {
		started.Close()
	}
	for _, s := range []*shared{javaDriver, kazooDriver, cDriver} {
		if s.driver != nil {
			s.driver.stop()
		}
		s.folder.Remove()
	}
}

// drivers is the tests, with the processes that they share ended before goroutines are counted.
type drivers struct{ *testing.M }

func (d drivers) Run() int {
	code := d.M.Run()
	stopShared()
	return code
}

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(drivers{m})
}
