package tier_test

// Which tests run in which tier, with which seeds.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
)

// recorder is a test that records how it ended.
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
	for chosen, want := range map[string]struct{ real, soak recorder }{
		"":     {recorder{skipped: noReal}, recorder{skipped: noSoak}},
		"real": {recorder{}, recorder{skipped: noSoak}},
		"soak": {},
		"all":  {recorder{failed: wrong}, recorder{failed: wrong}},
	} {
		for _, ci := range []string{"", "true"} { // continuous integration changes nothing
			t.Setenv("CI", ci)
			t.Setenv("TROUPE_TIER", chosen)
			var real, soak recorder
			tier.Real(&real)
			tier.Soak(&soak)
			require.Equal(t, want.real, real, chosen)
			require.Equal(t, want.soak, soak, chosen)
			require.Equal(t, chosen == "soak", tier.Soaking())
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

func TestEachSeedHasASubtestThatSaysHowItIsRepeated(t *testing.T) {
	t.Setenv("TROUPE_SEED", "7")
	t.Setenv("TROUPE_TIER", "")
	t.Setenv("ZKTEST_SEED", "3")
	var played []string
	root := &nested{name: "TestA/b.c"} // in the command a dot is quoted, and each part has ^ and $
	tier.Seeds(root, 3, func(t *nested, seed uint64) {
		played = append(played, fmt.Sprint(t.name, " ", seed))
		t.failed = seed == 8
	})
	require.Equal(t, []string{"TestA/b.c/7 7", "TestA/b.c/8 8", "TestA/b.c/9 9"}, played)
	require.Equal(t, []string{`again: ZKTEST_SEED=3 TROUPE_SEED=8 go test -run '^TestA$/^b\.c$/^8$'`}, root.said)
	t.Setenv("TROUPE_TIER", "soak")
	tier.Seeds(root, 1, func(t *nested, _ uint64) { t.failed = true })
	require.Equal(t, `again: TROUPE_TIER=soak ZKTEST_SEED=3 TROUPE_SEED=7 go test -run '^TestA$/^b\.c$/^7$'`, root.said[1])
}

// nested is a test with subtests, whose log gets theirs.
type nested struct {
	name   string
	failed bool
	ends   []func()
	said   []string
}

func (n *nested) Name() string            { return n.name }
func (n *nested) Failed() bool            { return n.failed }
func (n *nested) Cleanup(f func())        { n.ends = append(n.ends, f) }
func (n *nested) Logf(f string, a ...any) { n.said = append(n.said, fmt.Sprintf(f, a...)) }

func (n *nested) Run(name string, test func(t *nested)) bool {
	sub := &nested{name: n.name + "/" + name}
	test(sub)
	for _, f := range sub.ends {
		f()
	}
	n.said = append(n.said, sub.said...)
	return !sub.failed
}
