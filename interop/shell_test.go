package interop_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// shells plays scripts on interactive programs, one process a target: a line for each request, and
// behind it one whose answer ends the answer before.
type shells struct {
	dialect dialect
	log     logged

	mu      sync.Mutex
	running map[string]*shell
	feeds   map[string]chan string
}

// dialect is how one program talks.
type dialect struct {
	start  func(address, timeout string) *exec.Cmd
	marker string // a command about a znode that does not exist, with %d for a number
	answer string // the beginning of what is said of it
	drop   *regexp.Regexp
	events map[string]*regexp.Regexp // by kind
	quit   string
	lists  string // a command that lists names, a line each, in no order
}

type shell struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string // what is no event
	last    int
}

func newShells(d dialect) *shells {
	return &shells{dialect: d, running: map[string]*shell{}, feeds: map[string]chan string{}}
}

func (s *shells) said() string { return s.log.tail() }

func (s *shells) feed(target, kind string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := target + " " + kind
	if s.feeds[key] == nil {
		s.feeds[key] = make(chan string, 256)
	}
	return s.feeds[key]
}

// send carries a request out, before it returns: a shell does one thing after the other anyway.
func (s *shells) send(target, verb string, args ...string) <-chan reply {
	answer := make(chan reply, 1)
	if verb == "close" {
		answer <- s.stop(target)
		return answer
	}
	if verb == "open" { // client, address, session timeout in ms
		answer <- s.open(target, args[1], args[2])
		return answer
	}
	said := s.running[target].ask(s.dialect, strings.Join(append([]string{verb}, args...), " "))
	if verb == s.dialect.lists {
		slices.Sort(said.values)
	}
	answer <- said
	return answer
}

func (s *shells) wait(answer <-chan reply, _ string) reply { return <-answer }

func (s *shells) open(target, address, timeout string) reply {
	out, in, err := os.Pipe() // one for both outputs, so that their order is kept
	if err != nil {
		return reply{err: err.Error()}
	}
	command := s.dialect.start(address, timeout)
	command.Stdout, command.Stderr = in, in
	stdin, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return reply{err: err.Error()}
	}
	p := &shell{command: command, stdin: stdin, lines: make(chan string, 4096)}
	s.running[target] = p
	go s.read(target, p, out) // the shell's, until the process ends
	p.ask(s.dialect, "")      // what it says first
	return reply{}
}

func (s *shells) read(target string, p *shell, out *os.File) {
	defer close(p.lines)
	defer out.Close()
	lines := bufio.NewScanner(out)
next:
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		_, _ = fmt.Fprintln(&s.log, target, line)
		for kind, pattern := range s.dialect.events {
			if m := pattern.FindStringSubmatch(line); m != nil {
				s.feed(target, kind) <- strings.Join(m[1:], " ")
				continue next
			}
		}
		if line != "" && !s.dialect.drop.MatchString(line) {
			p.lines <- line
		}
	}
}

// ask sends a command, and the marker behind it; what is said in between is the answer.
func (p *shell) ask(d dialect, command string) reply {
	p.last++
	marker := fmt.Sprintf(d.marker, p.last)
	if _, err := io.WriteString(p.stdin, command+"\n"+marker+"\n"); err != nil {
		return reply{err: "the shell has ended"}
	}
	var said []string
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return reply{err: "the shell has ended"}
			}
			if strings.HasPrefix(line, fmt.Sprintf(d.answer, p.last)) {
				return reply{values: said}
			}
			said = append(said, line)
		case <-timeout:
			return reply{err: fmt.Sprintf("no answer within %v to %s", patience, command)}
		}
	}
}

// stop ends a target's process.
func (s *shells) stop(target string) reply {
	p := s.running[target]
	_, _ = io.WriteString(p.stdin, s.dialect.quit+"\n")
	_ = p.stdin.Close()
	kill := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	for range p.lines { // until its end
		continue
	}
	_ = p.command.Wait() // how it ended says nothing
	return reply{}
}
