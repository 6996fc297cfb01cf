package interop

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// howToGet ends every error: one line, because tests are skipped with it.
const howToGet = "; `make deps` installs it (Debian's package "

// machine is the machine on which clients are searched.
type machine struct {
	root string                               // in front of every file's path
	find func(program string) (string, error) // in PATH
}

var here = machine{find: exec.LookPath}

// Java has the commands that compile and run programs against the Java client, Curator and the
// recipes of both.
type Java struct{ Javac, Java, ClassPath string }

// FindJava finds a JDK and the jars. The error names in one line the missing program, and how to
// get it.
func FindJava() (Java, error) { return here.java() }

// FindKazoo finds a Python that has kazoo. The error is like that of FindJava.
func FindKazoo() (python string, err error) { return here.kazoo() }

// FindC finds a C compiler that can link ZooKeeper's client. The error is like that of FindJava.
func FindC() (cc string, err error) { return here.c() }

// Missing says in one line each which clients are not here, and how to get them.
func Missing() []string {
	_, java := FindJava()
	_, kazoo := FindKazoo()
	_, c := FindC()
	var lines []string
	for _, err := range []error{java, kazoo, c} {
		if err != nil {
			lines = append(lines, err.Error())
		}
	}
	return lines
}

func (m machine) java() (Java, error) {
	javac, err := m.find("javac")
	if err != nil {
		return Java{}, missing("the Java client", "no javac in PATH", "default-jdk-headless")
	}
	java, err := m.find("java")
	if err != nil {
		return Java{}, missing("the Java client", "no java in PATH", "default-jre-headless")
	}
	var path []string
	for _, need := range []struct{ jar, pkg string }{
		{"zookeeper.jar", "libzookeeper-java"},
		{"zookeeper-recipes-lock.jar", "libzookeeper-java"},
		{"zookeeper-recipes-election.jar", "libzookeeper-java"},
		{"zookeeper-recipes-queue.jar", "libzookeeper-java"},
		{"curator-recipes.jar", "libcurator-recipes-java"},
		{"curator-framework.jar", "libcurator-framework-java"},
		{"curator-client.jar", "libcurator-client-java"},
		{"guava.jar", "libguava-java"},
		{"slf4j-simple.jar", "libslf4j-java"},
	} {
		file := m.root + "/usr/share/java/" + need.jar
		if !isFile(file) {
			return Java{}, missing("the Java client", "no "+file, need.pkg)
		}
		path = append(path, file)
	}
	return Java{Javac: javac, Java: java, ClassPath: strings.Join(path, string(filepath.ListSeparator))}, nil
}

func (m machine) kazoo() (string, error) {
	// Debian's own first: another one in PATH, of a version manager say, does not see Debian's
	// packages.
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		python, err := m.find(name)
		if err == nil && exec.Command(python, "-c", "import kazoo").Run() == nil {
			return python, nil
		}
	}
	return "", missing("kazoo", "no python3 that can import it", "python3-kazoo")
}

func (m machine) c() (string, error) {
	cc, err := m.find("cc")
	if err != nil {
		return "", missing("the C client", "no cc in PATH", "gcc")
	}
	if header := m.root + "/usr/include/zookeeper/zookeeper.h"; !isFile(header) {
		return "", missing("the C client", "no "+header, "libzookeeper-mt-dev")
	}
	return cc, nil
}

func missing(what, lacking, pkg string) error {
	return errors.New(what + " is left out: " + lacking + howToGet + pkg + ")")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
