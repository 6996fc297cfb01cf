package zktest_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// asVersionOf has our server answer as the version that the real servers say they are: the newest
// that it knows and that is not newer.
func asVersionOf(t *testing.T, real *ensemble.Ensemble) zktest.Option {
	t.Helper()
	version, err := real.Version()
	require.NoError(t, err)
	known := zktest.Versions()
	nearest := known[0]
	for _, v := range known {
		if slices.Compare(numbers(t, v), numbers(t, version)) <= 0 {
			nearest = v
		}
	}
	t.Logf("real servers of version %s, ours as %s", version, nearest)
	return zktest.WithVersion(nearest)
}

// numbers takes a version apart.
func numbers(t *testing.T, version string) (all []int) {
	t.Helper()
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		require.NoError(t, err, version)
		all = append(all, n)
	}
	return all
}
