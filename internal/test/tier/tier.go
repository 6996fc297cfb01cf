// Package tier decides which tests run, and with which seeds.
//
// There are three tiers. The gate is what plain `go test` runs: it needs Go and nothing else, and
// is the same every time. TROUPE_TIER=real adds what needs real servers, processes, or the programs
// of others; TROUPE_TIER=soak adds what takes long, and what is about time or about chance.
package tier

import (
	"flag"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.uber.org/goleak"
)

const (
	tierVariable = "TROUPE_TIER"
	seedVariable = "TROUPE_SEED"

	serversVariable = "ZKTEST_SEED" // of package zktest

	real = "real"
	soak = "soak"
)

// TB is the few methods of testing.TB that this package needs. So the package does not import
// testing.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Real skips the test unless the tier is real, or soak, which includes it. It is the first line of
// a test: tools/test-real goes by that.
func Real(t TB) {
	t.Helper()
	need(t, os.Getenv(tierVariable), real)
}

// Soak skips the test unless the tier is soak. It is the first line of a test, as [Real] is.
func Soak(t TB) {
	t.Helper()
	need(t, os.Getenv(tierVariable), soak)
}

func need(t TB, chosen, wanted string) {
	t.Helper()
	switch chosen {
	case soak, wanted:
	case "", real:
		t.Skipf("tier %s: %s=%s runs it", wanted, tierVariable, wanted)
	default:
		t.Fatalf("%s=%s: neither %s nor %s", tierVariable, chosen, real, soak)
	}
}

// Soaking tells whether the tier is soak.
func Soaking() bool { return os.Getenv(tierVariable) == soak }

// Count is how often something is done: a few times in the gate, many times in soak.
func Count(few, many int) int {
	if Soaking() {
		return many
	}
	return few
}

// Servers are the sizes of the ensembles for a test that needs only one server: soak repeats it on
// three.
func Servers() []int {
	if Soaking() {
		return []int{1, 3}
	}
	return []int{1}
}

// Seed is the first seed of a test of that name. It is the same in every run, unless TROUPE_SEED is
// a number, which then is the seed, or random. Tests add to it without overflow. [Again] prints it.
func Seed(name string) uint64 { return seed(os.Getenv(seedVariable), name) }

func seed(chosen, name string) uint64 {
	if n, err := strconv.ParseUint(chosen, 0, 64); err == nil {
		return n
	}
	if chosen == "random" {
		return rand.Uint64() >> 8 // room for those that are added
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64() >> 8
}

// Named is a test that can tell how it is repeated.
type Named interface {
	Name() string
	Cleanup(f func())
	Failed() bool
	Logf(format string, args ...any)
}

// Nested is a test with subtests, as *testing.T is.
type Nested[T any] interface {
	Named
	Run(name string, test func(t T)) bool
}

// Seeds runs a test several times, with one seed after the other from [Seed] on, each in a subtest
// that has the seed for a name. One that fails tells how it is repeated, alone.
func Seeds[T Nested[T]](t T, count int, test func(t T, seed uint64)) {
	first := Seed(t.Name())
	for seed := first; seed < first+uint64(count); seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t T) {
			Again(t, seed)
			test(t, seed)
		})
	}
}

// Again has a test that fails print the command that repeats it. All that it draws is drawn again;
// the order of goroutines at one instant of a bubble is the scheduler's.
func Again(t Named, seed uint64) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		alone := strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^")
		command := fmt.Sprintf("%s=%d go test -run '^%s$'", seedVariable, seed, alone)
		for _, name := range []string{serversVariable, tierVariable} {
			if value := os.Getenv(name); value != "" {
				command = name + "=" + value + " " + command
			}
		}
		t.Logf("again: %s", command)
	})
}

// Main runs a package's tests, with fixed seeds, and fails if goroutines are left.
func Main(m goleak.TestingM) {
	Fix()
	goleak.VerifyTestMain(m)
}

// Fix sets the seeds of other packages by [Seed]: of zktest's servers, of recipetest's schedules,
// and of pgregory.net/rapid, which makes a hundred checks. TestMain calls it before flags are
// parsed, so that ZKTEST_SEED and flags on the command line prevail. The program's log is
// discarded: tests make faults by the hundred.
func Fix() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if os.Getenv(serversVariable) == "" {
		set(os.Setenv, serversVariable, max(Seed(serversVariable), 1)) // 0 would be any
	}
	flags := map[string]uint64{"rapid.seed": max(Seed("rapid"), 1), "rapid.checks": uint64(Count(100, 1000))}
	if os.Getenv(seedVariable) != "" {
		flags["recipetest.seed"] = Seed("recipetest") // without, each test has one of its own
	}
	for name, n := range flags {
		if flag.Lookup(name) != nil {
			set(flag.Set, name, n)
		}
	}
}

func set(f func(name, value string) error, name string, n uint64) {
	if err := f(name, strconv.FormatUint(n, 10)); err != nil {
		panic(err)
	}
}
