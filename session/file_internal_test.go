//go:build unix && !solaris && !aix

package session

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Kubernetes' fsGroup makes root the owner of what is on a volume, and a group of the process its
// group, which may write. Whether the process is in that group, the system tells when it opens the
// file.
func TestWhoseSessionFileIsTaken(t *testing.T) {
	t.Parallel()
	const user = 1000
	for _, row := range []struct {
		mode    os.FileMode
		owner   int
		refused string
	}{
		{0o600, user, ""},
		{0o660, user, ""},
		{0o660, 0, ""},
		{0o670, 0, ""},
		{0o660, user + 1, "another user's"},
		{0o601, user, "others may"},
		{0o662, 0, "others may"},
		{0o604, 0, "others may"},
		{os.ModeDir | 0o600, user, "no regular file"},
	} {
		err := refused(row.mode, row.owner, user)
		if row.refused == "" {
			require.NoError(t, err, row)
		} else {
			require.ErrorContains(t, err, row.refused, row)
		}
	}
}
