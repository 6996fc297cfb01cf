package tier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
)

// recorder is a test that notes how it ended.
type recorder struct{ skipped, failed string }

func (r *recorder) Helper()                           {}
func (r *recorder) Skipf(format string, args ...any)  { r.skipped = fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func TestWhatRunsInWhichTier(t *testing.T) {
	const (
		noReal = "tier real: TROUPE_TIER=real runs it"
		noSoak = "tier soak: TROUPE_TIER=soak runs it"
		wrong  = "TROUPE_TIER=all: neither real nor soak"
	)
	for is, want := range map[string]struct{ real, soak recorder }{
		"":     {recorder{skipped: noReal}, recorder{skipped: noSoak}},
		"real": {recorder{}, recorder{skipped: noSoak}},
		"soak": {},
		"all":  {recorder{failed: wrong}, recorder{failed: wrong}},
	} {
		for _, ci := range []string{"", "true"} {
			t.Setenv("CI", ci)
			t.Setenv("TROUPE_TIER", is)
			var real, soak recorder
			tier.Real(&real)
			tier.Soak(&soak)
			require.Equal(t, want.real, real, is)
			require.Equal(t, want.soak, soak, is)
			require.Equal(t, is == "soak", tier.Soaking())
		}
	}
}

func TestASeedIsTheSameUnlessToldOtherwise(t *testing.T) {
	t.Setenv("TROUPE_SEED", "")
	a := tier.Seed("a")
	require.NotEqual(t, a, tier.Seed("b"))
	for range 3 {
		require.Equal(t, a, tier.Seed("a"))
	}
	t.Setenv("TROUPE_SEED", "7")
	require.EqualValues(t, 7, tier.Seed("a"))
	t.Setenv("TROUPE_SEED", "random")
	require.NotEqual(t, a, tier.Seed("a"))
}
