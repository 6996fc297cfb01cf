package plain_test

import (
	"testing"

	"go.uber.org/goleak"
)

// processes is the tests, with the process that they share ended before goroutines are counted.
type processes struct{ *testing.M }

func (p processes) Run() int {
	code := p.M.Run()
	started.stop()
	return code
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(processes{m}) }
