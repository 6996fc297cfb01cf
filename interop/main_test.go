package interop_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
)

// drivers is the tests, with the processes that they share ended before goroutines are counted.
type drivers struct{ *testing.M }

func (d drivers) Run() int {
	flag.Parse()
	_ = flag.Set("test.parallel", "12") // they wait for others most of the time, however few processors there are
	code := d.M.Run()
	stopShared()
	return code
}

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(drivers{m})
}
