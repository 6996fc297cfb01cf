package interop

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// howToGet ends every complaint: one line, because tests are skipped with it.
const howToGet = "; `make deps` installs it (Debian's package "

const jars = "/usr/share/java"

// Java is what compiles and runs programs against the Java client, Curator and the recipes of both.
type Java struct{ Javac, Java, ClassPath string }

// FindJava finds a JDK and the jars. The error says in one line what is missing and how to get it.
func FindJava() (Java, error) {
	javac, err := exec.LookPath("javac")
	if err != nil {
		return Java{}, errors.New("the Java clients are left out: no javac in PATH" + howToGet + "default-jdk-headless)")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return Java{}, errors.New("the Java clients are left out: no java in PATH" + howToGet + "default-jre-headless)")
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
		file := filepath.Join(jars, need.jar)
		if !isFile(file) {
			return Java{}, errors.New("the Java clients are left out: no " + file + howToGet + need.pkg + ")")
		}
		path = append(path, file)
	}
	return Java{Javac: javac, Java: java, ClassPath: strings.Join(path, string(filepath.ListSeparator))}, nil
}

// FindKazoo finds a Python that has kazoo. The error says in one line what is missing and how to get it.
func FindKazoo() (python string, err error) {
	// Debian's own first: another one in PATH, of a version manager say, does not see Debian's packages.
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		python, err := exec.LookPath(name)
		if err == nil && exec.Command(python, "-c", "import kazoo").Run() == nil {
			return python, nil
		}
	}
	return "", errors.New("kazoo is left out: no python3 that can import it" + howToGet + "python3-kazoo)")
}

// FindC finds a C compiler that can link ZooKeeper's client. The error says in one line what is missing and how to get it.
func FindC() (cc string, err error) {
	cc, err = exec.LookPath("cc")
	if err != nil {
		return "", errors.New("the C client is left out: no cc in PATH" + howToGet + "gcc)")
	}
	if header := "/usr/include/zookeeper/zookeeper.h"; !isFile(header) {
		return "", errors.New("the C client is left out: no " + header + howToGet + "libzookeeper-mt-dev)")
	}
	return cc, nil
}

// FindShell finds zkCli.sh, the shell that comes with ZooKeeper. The error says in one line what is missing and how to get it.
func FindShell() (string, error) {
	return tool("/usr/share/zookeeper/bin/zkCli.sh", "zookeeper")
}

// FindTool finds cli_mt, the C client's shell. The error says in one line what is missing and how to get it.
func FindTool() (string, error) {
	return tool("/usr/lib/zookeeper/bin/cli_mt", "zookeeper-bin")
}

func tool(path, pkg string) (string, error) {
	if !isFile(path) {
		return "", errors.New(filepath.Base(path) + " is left out: no " + path + howToGet + pkg + ")")
	}
	return path, nil
}

// Missing says in one line each which clients are not here, and how to get them.
func Missing() []string {
	_, java := FindJava()
	_, kazoo := FindKazoo()
	_, c := FindC()
	_, shell := FindShell()
	_, tool := FindTool()
	var lines []string
	for _, err := range []error{java, kazoo, c, shell, tool} {
		if err != nil {
			lines = append(lines, err.Error())
		}
	}
	return lines
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
