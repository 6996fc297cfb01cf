package interop_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
)

// drivers is the tests, with the processes that they share ended before goroutines are counted.
type drivers struct{ *testing.M }

func (d drivers) Run() int {
	code := d.M.Run()
	stopShared()
	return code
}

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(drivers{m})
}
