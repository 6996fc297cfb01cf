package main

// Each test says what it needs, and has the same seed in every run.

import (
	"maps"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	header = regexp.MustCompile(`^func (Test\w+)\(t \*testing\.T\) \{$`)
	mark   = regexp.MustCompile(`^\t(tier\.(Real|Soak)\(t\)|everywhere\(t, )`)
	// outside matches code that starts servers, or builds or runs programs. Make check does not run
	// such tests: see docs/testing.md.
	outside = regexp.MustCompile(`\b(ensemble\.(Start|New)\(|onEnsemble\(|onBoth\(|onEmpty\(|newDiffer\(|pair\(t, |exec\.Command|program\(t\)|programs\(\)|(suite|acls)\.Real\()`)
	// drawn matches a seed that differs from run to run.
	drawn = regexp.MustCompile(`\b(rand\.Uint64\(\)|time\.Now\(\)\.UnixNano\(\)\))`)
	// draws matches the import of a package that draws at random on a test's behalf.
	draws = regexp.MustCompile(`"(pgregory\.net/rapid|github\.com/troupe-go/troupe/(zktest|internal/test/bubble|recipe/recipetest))"`)
)

// A test that needs more than Go says so on its first line, by which tools/test-real finds it; and
// the others have the same seed in every run.
func TestEveryTestIsInItsTier(t *testing.T) {
	t.Parallel()
	files, err := read("../..")
	require.NoError(t, err)
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.name, "_test.go") || strings.HasPrefix(f.name, "bench/") {
			continue
		}
		name, first, marked := "", 0, false // the test, the index of its first line, and whether that is a mark
		for i, line := range f.lines {
			if m := header.FindStringSubmatch(line); m != nil {
				name, first, marked = m[1], i+1, false
				continue
			}
			switch {
			case line == "}":
				name = ""
			case name == "", name == "TestPoolThatCannotStart", name == "TestBadInputIsRefused": // these fail before they start anything
			case mark.MatchString(line) && i != first:
				t.Errorf("%s:%d: %s is marked behind its first line", f.name, i+1, name)
			case mark.MatchString(line):
				marked = true
				seen++
			case !marked && outside.MatchString(line):
				t.Errorf("%s:%d: %s does not begin with tier.Real(t) or tier.Soak(t)", f.name, i+1, name)
			case !marked && drawn.MatchString(line):
				t.Errorf("%s:%d: %s draws its seed: take tier.Seed(t.Name())", f.name, i+1, name)
			}
		}
	}
	require.Greater(t, seen, 80)
}

// Each package's TestMain fixes the seeds of servers, schedules and rapid. Examples are exempt,
// since they show what users do, and chaos is random on purpose.
func TestEveryPackageFixesItsSeeds(t *testing.T) {
	t.Parallel()
	files, err := read("../..")
	require.NoError(t, err)
	drawing, fixed := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.name, "_test.go") || strings.HasPrefix(f.name, "examples/") || strings.HasPrefix(f.name, "bench/") || strings.HasPrefix(f.name, "test/chaos/") {
			continue
		}
		text, dir := strings.Join(f.lines, "\n"), path.Dir(f.name)
		drawing[dir] = drawing[dir] || draws.MatchString(text)
		fixed[dir] = fixed[dir] || strings.Contains(text, "tier.Fix()") || strings.Contains(text, "tier.Main(m)")
	}
	maps.DeleteFunc(drawing, func(_ string, draws bool) bool { return !draws })
	require.Greater(t, len(drawing), 20)
	for dir := range drawing {
		if !fixed[dir] {
			t.Errorf("%s: TestMain calls neither tier.Main nor tier.Fix", dir)
		}
	}
}
