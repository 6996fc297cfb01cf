package interop_test

// Where the clients of other libraries are, and how their drivers are started, once for all tests.

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tempdir"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/interop"
)

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
