package run

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// WorkerEnv is the environment variable of a worker process, with its Config.
const WorkerEnv = "TROUPE_CHAOS_WORKER"

// worker is one worker: a process, and after each kill another one.
type worker struct {
	config work.Config
	folder string

	mu      sync.Mutex
	process *os.Process
	stdin   io.WriteCloser
	exited  chan struct{} // closed when the present process is dead and reaped
	life    int           // how many processes there have been
	deaths  []string      // of processes that were not killed
	killed  bool
}

// start begins the next process.
func (w *worker) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life++
	cfg := w.config
	cfg.Name = fmt.Sprintf("w%d.%d", cfg.Index, w.life)
	cfg.Path = filepath.Join(w.folder, cfg.Name+history.Suffix)
	cfg.Seed += uint64(w.life) << 32
	log, err := os.Create(filepath.Join(w.folder, cfg.Name+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own descriptor
	cmd, err := w.command(cfg)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, dieWithParent()
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	w.exited, w.killed = make(chan struct{}), false
	started := make(chan error, 1)
	go w.mind(cmd, started, w.exited) // owner: the worker; ends when the process is dead
	if err := <-started; err != nil {
		return err
	}
	w.process = cmd.Process
	return nil
}

// mind starts a process and waits for its end. It keeps its thread, because Linux kills the child
// when the thread that started it ends.
func (w *worker) mind(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	err = cmd.Wait()
	w.mu.Lock()
	if err != nil && !w.killed {
		w.deaths = append(w.deaths, fmt.Sprintf("w%d.%d: %v", w.config.Index, w.life, err))
	}
	w.mu.Unlock()
	close(exited)
}

// command is the process of a worker: this very program.
func (w *worker) command(cfg work.Config) (*exec.Cmd, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), WorkerEnv+"="+string(text))
	return cmd, nil
}

// kill is kill -9. It returns when the process is dead.
func (w *worker) kill() {
	w.mu.Lock()
	process, exited := w.process, w.exited
	w.killed = true
	w.mu.Unlock()
	if process != nil {
		_ = process.Kill() // fails only if it is dead already
		<-exited
	}
}

func (w *worker) signal(send func(*os.Process) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process != nil {
		_ = send(w.process) // a dead process stays dead
	}
}

// tell sends a line.
func (w *worker) tell(word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.stdin, word+"\n") // a dead process does not read
}

// await returns true if the process ends within d.
func (w *worker) await(d time.Duration) bool {
	w.mu.Lock()
	exited := w.exited
	w.mu.Unlock()
	select {
	case <-exited:
		return true
	case <-time.After(d):
		return false
	}
}

// dead are the processes that ended with an error without being killed.
func (w *worker) dead() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deaths
}
