package session_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
)

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(tests{m})
}

// tests stops the real server that they share, if they started one, before goroutines are counted.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer stopReal()
	return t.M.Run()
}
