package ensemble

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// TB is the few methods of testing.TB that this package needs. So the package does not import
// testing.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// howToGet is the end of every error about something missing. It is one line, so that it can be the
// reason of a skipped test.
const howToGet = "`make deps` installs it (Debian's package zookeeper), or ZOOKEEPER_HOME names an unpacked release"

// installation is a Java runtime and the class path of ZooKeeper.
type installation struct{ java, classPath string }

var find = sync.OnceValues(func() (installation, error) { return findIn(os.Getenv, "/usr/share/java") })

// Available returns nil if real ZooKeeper servers can be started on this machine. Otherwise its
// error says in one line what is missing and how to get it.
func Available() error {
	_, err := find()
	return err
}

func findIn(env func(string) string, debian string) (installation, error) {
	if supported != nil {
		return installation{}, supported
	}
	java, err := findJava(env)
	if err != nil {
		return installation{}, err
	}
	classPath, err := findJars(env, debian)
	return installation{java: java, classPath: classPath}, err
}

func findJava(env func(string) string) (string, error) {
	if home := env("JAVA_HOME"); home != "" {
		if java := filepath.Join(home, "bin", "java"); isFile(java) {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("real ZooKeeper is not available: no java in PATH or JAVA_HOME; " + howToGet)
	}
	return java, nil
}

func findJars(env func(string) string, debian string) (string, error) {
	if home := env("ZOOKEEPER_HOME"); home != "" {
		lib := filepath.Join(home, "lib")
		jars, _ := filepath.Glob(filepath.Join(lib, "zookeeper-[0-9]*.jar")) // the pattern is well-formed
		if len(jars) == 0 {
			return "", errors.New("real ZooKeeper is not available: ZOOKEEPER_HOME has no lib/zookeeper-<version>.jar; " + howToGet)
		}
		return filepath.Join(lib, "*"), nil
	}
	// The manifest of Debian's zookeeper.jar names all jars that it needs, except a backend for its
	// logs.
	jars := []string{filepath.Join(debian, "zookeeper.jar"), filepath.Join(debian, "slf4j-simple.jar")}
	for _, jar := range jars {
		if !isFile(jar) {
			return "", errors.New("real ZooKeeper is not available: no " + jar + "; " + howToGet)
		}
	}
	return strings.Join(jars, string(filepath.ListSeparator)), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
