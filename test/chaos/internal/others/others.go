package others

import (
	_ "embed" // the programs
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/interop"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// The libraries that have a worker here.
const (
	Curator = "curator"
	Kazoo   = "kazoo"
)

//go:embed CuratorWorker.java
var curatorWorker []byte

//go:embed kazoo_worker.py
var kazooWorker []byte

// Worker starts workers of one library.
type Worker struct{ command []string }

// Prepare compiles the worker of a library into a folder. The error says what is missing.
func Prepare(library, folder string) (*Worker, error) {
	switch library {
	case Curator:
		java, err := interop.FindJava()
		if err != nil {
			return nil, err
		}
		source := filepath.Join(folder, "CuratorWorker.java")
		if err := os.WriteFile(source, curatorWorker, 0o600); err != nil {
			return nil, err
		}
		if out, err := exec.Command(java.Javac, "-cp", java.ClassPath, "-d", folder, source).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("javac: %w\n%s", err, out)
		}
		path := folder + string(filepath.ListSeparator) + java.ClassPath
		return &Worker{command: []string{java.Java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, "CuratorWorker"}}, nil
	case Kazoo:
		python, err := interop.FindKazoo()
		if err != nil {
			return nil, err
		}
		source := filepath.Join(folder, "kazoo_worker.py")
		return &Worker{command: []string{python, source}}, os.WriteFile(source, kazooWorker, 0o600)
	default:
		return nil, fmt.Errorf("no library is called %q", library)
	}
}

// Command is the process of one worker.
func (w *Worker) Command(c work.Config) *exec.Cmd {
	args := slices.Concat(w.command[1:], []string{
		c.Name, c.Path, strings.Join(c.Servers, ","), strconv.FormatInt(c.Timeout.Milliseconds(), 10),
		strconv.FormatUint(c.Seed&0xffffffff, 10), strconv.FormatFloat(c.Long, 'f', -1, 64),
	})
	return exec.Command(w.command[0], args...)
}
