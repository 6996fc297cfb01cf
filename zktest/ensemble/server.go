package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// server is one server of an ensemble: its folder, its command line and, while it runs, its
// process.
type server struct {
	id      int // index in the ensemble; ZooKeeper's own number is one more
	dir     string
	addr    string
	install installation
	args    []string

	mu     sync.Mutex
	proc   *process // nil before the first start
	paused bool
}

// newServer writes the folder of server id.
func newServer(id int, root string, p *plan, s settings, install installation) (*server, error) {
	sv := &server{id: id, dir: filepath.Join(root, fmt.Sprintf("server%d", id)), addr: p.clientAddr(id), install: install}
	files := map[string]string{
		"data/myid":        fmt.Sprintf("%d\n", id+1),
		"zoo.cfg":          zooCfg(id, sv.dir, p, s),
		"logback.xml":      logback,
		"log4j.properties": log4j,
	}
	for name, content := range s.files {
		files[filepath.Join("data", name)] = content
	}
	if p.names[id] != "" {
		files["hosts"] = p.names[id]
	}
	for name, content := range files {
		path := filepath.Join(sv.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	sv.args = javaArgs(sv.dir, p.names[id] != "", s, install)
	return sv, nil
}

// start kills the running process, if any, and starts one. The mutex is held meanwhile, so that two
// callers do not leave two processes.
func (sv *server) start() error {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.killLocked()
	log, err := os.OpenFile(filepath.Join(sv.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	proc, err := launch(sv.install.java, sv.args, sv.dir, log)
	if err != nil {
		return fmt.Errorf("ensemble: server %d: %w", sv.id, err)
	}
	sv.proc, sv.paused = proc, false
	return nil
}

func (sv *server) kill() {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.killLocked()
}

func (sv *server) killLocked() {
	if sv.proc != nil {
		sv.proc.kill()
	}
}

// setPaused does nothing to a dead server.
func (sv *server) setPaused(paused bool) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if !sv.aliveLocked() {
		return
	}
	signal := resume
	if paused {
		signal = suspend
	}
	if signal(sv.proc.os) == nil {
		sv.paused = paused
	}
}

func (sv *server) aliveLocked() bool {
	if sv.proc == nil {
		return false
	}
	select {
	case <-sv.proc.exited:
		return false
	default:
		return true
	}
}

// running says whether the server has a process that is not paused.
func (sv *server) running() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.aliveLocked() && !sv.paused
}

// await polls until ready says so, the process ends, or ctx does.
func (sv *server) await(ctx context.Context, ready func(ctx context.Context) bool) error {
	sv.mu.Lock()
	proc := sv.proc
	sv.mu.Unlock()
	if proc == nil {
		return errors.New("never started")
	}
	for {
		if ready(ctx) {
			return nil
		}
		select {
		case <-proc.exited:
			return errors.New("its process ended")
		default:
		}
		if !pause(ctx, pollEvery) {
			return ctx.Err()
		}
	}
}

func (sv *server) serves(ctx context.Context) bool { return mode(ctx, sv.addr) != "" }

func (sv *server) listens(ctx context.Context) bool {
	answer, err := word(ctx, sv.addr, "ruok")
	return err == nil && answer == "imok"
}

// logTail is the end of the server's log.
func (sv *server) logTail(lines int) string {
	content, err := os.ReadFile(filepath.Join(sv.dir, "log"))
	if err != nil {
		return err.Error()
	}
	all := slices.Collect(strings.Lines(string(content)))
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// process is one run of a server's virtual machine.
type process struct {
	os     *os.Process
	exited chan struct{} // closed when it is dead and reaped
}

// launch starts a command that dies with this process.
func launch(java string, args []string, dir string, log *os.File) (*process, error) {
	cmd := exec.Command(java, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, dieWithParent()
	p := &process{exited: make(chan struct{})}
	started := make(chan error, 1)
	// Owner: the process; ends when the child is dead. It keeps its thread, because Linux kills the
	// child when the thread that started it ends.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // a killed server is what tests ask for
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.os = cmd.Process
	return p, nil
}

// kill returns when the process is dead.
func (p *process) kill() {
	_ = p.os.Kill() // fails only if it is dead already
	<-p.exited
}
