package prio //nolint:testpackage // the machine and its phases are looked at from inside

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil { // the same in every run; with -rapid.seed=0 another one
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
