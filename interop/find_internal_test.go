package interop

// Missing programs are named.

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The error names a missing program in one line, with the package that has it, until nothing is
// missing.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	said := regexp.MustCompile("^the .* client is left out: no (/.*|.+ in PATH); `make deps` installs it \\(Debian's package [a-z0-9-]+\\)$")
	programs := map[string]bool{}
	m := machine{root: t.TempDir(), find: func(program string) (string, error) {
		if programs[program] {
			return program, nil
		}
		return "", errors.New("not found")
	}}
	for want, find := range map[int]func() error{
		11: func() error { _, err := m.java(); return err },
		2:  func() error { _, err := m.c(); return err },
	} {
		missed := 0
		for err := find(); err != nil && missed < want; err = find() {
			missed++
			require.Regexp(t, said, err.Error())
			what := said.FindStringSubmatch(err.Error())[1]
			if !filepath.IsAbs(what) {
				programs[what[:len(what)-len(" in PATH")]] = true
				continue
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(what), 0o755))
			require.NoError(t, os.WriteFile(what, nil, 0o644))
		}
		require.NoError(t, find())
		require.Equal(t, want, missed)
	}
	_, err := m.kazoo()
	require.EqualError(t, err, "kazoo is left out: no python3 that can import it; `make deps` installs it (Debian's package python3-kazoo)")
}
