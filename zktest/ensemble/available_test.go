package ensemble_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

func touch(t *testing.T, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o700))
}

func TestWhatIsMissingIsSaidInOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	touch(t, dir, "jdk", "bin", "java")
	touch(t, dir, "debian", "zookeeper.jar")
	touch(t, dir, "debian", "slf4j-simple.jar")
	touch(t, dir, "half", "zookeeper.jar")
	touch(t, dir, "release", "lib", "zookeeper-3.9.3.jar")
	for name, tc := range map[string]struct {
		home, debian string
		missing      string
	}{
		"Debian's package":        {debian: "debian"},
		"a release":               {home: "release", debian: "none"},
		"nothing":                 {debian: "none", missing: "zookeeper.jar"},
		"no backend for logs":     {debian: "half", missing: "slf4j-simple.jar"},
		"ZOOKEEPER_HOME is wrong": {home: "half", debian: "debian", missing: "ZOOKEEPER_HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"JAVA_HOME": filepath.Join(dir, "jdk")}
			if tc.home != "" {
				env["ZOOKEEPER_HOME"] = filepath.Join(dir, tc.home)
			}
			err := ensemble.FindIn(func(key string) string { return env[key] }, filepath.Join(dir, tc.debian))
			if tc.missing == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.missing)
			require.ErrorContains(t, err, "make deps")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
