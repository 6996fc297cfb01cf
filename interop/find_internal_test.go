package interop

// What is missing on a machine is named.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is missing is said in one line, with the package that has it, until nothing is missing.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	programs := map[string]bool{}
	m := machine{root: t.TempDir(), find: func(program string) (string, error) {
		if programs[program] {
			return program, nil
		}
		return "", errors.New("not found")
	}}
	install := func(what string) {
		if !strings.HasPrefix(what, "/") {
			programs[what] = true
			return
		}
		file := filepath.Join(m.root, what)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o644))
	}
	for _, c := range []struct {
		find  func() error
		needs [][2]string // what, and its package, in the order in which it is missed
	}{
		{func() error { _, err := m.java(); return err }, [][2]string{
			{"javac", "default-jdk-headless"},
			{"java", "default-jre-headless"},
			{"/usr/share/java/zookeeper.jar", "libzookeeper-java"},
			{"/usr/share/java/zookeeper-recipes-lock.jar", "libzookeeper-java"},
			{"/usr/share/java/zookeeper-recipes-election.jar", "libzookeeper-java"},
			{"/usr/share/java/zookeeper-recipes-queue.jar", "libzookeeper-java"},
			{"/usr/share/java/curator-recipes.jar", "libcurator-recipes-java"},
			{"/usr/share/java/curator-framework.jar", "libcurator-framework-java"},
			{"/usr/share/java/curator-client.jar", "libcurator-client-java"},
			{"/usr/share/java/guava.jar", "libguava-java"},
			{"/usr/share/java/slf4j-simple.jar", "libslf4j-java"},
		}},
		{func() error { _, err := m.c(); return err }, [][2]string{
			{"cc", "gcc"},
			{"/usr/include/zookeeper/zookeeper.h", "libzookeeper-mt-dev"},
		}},
		{func() error { _, err := m.tool("/usr/bin/x", "x-tools"); return err }, [][2]string{{"/usr/bin/x", "x-tools"}}},
	} {
		for _, need := range c.needs {
			err := c.find()
			require.ErrorContains(t, err, need[0])
			require.ErrorContains(t, err, "`make deps` installs it (Debian's package "+need[1]+")")
			require.NotContains(t, err.Error(), "\n")
			install(need[0])
		}
		require.NoError(t, c.find())
	}
	_, err := m.kazoo()
	require.EqualError(t, err, "kazoo is left out: no python3 that can import it; `make deps` installs it (Debian's package python3-kazoo)")
}
