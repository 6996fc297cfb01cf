package prio //nolint:testpackage // the machine and its phases are looked at from inside

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
