package prio //nolint:testpackage // the machine and its phases are looked at from inside

import (
	"testing"

	"github.com/troupe-go/troupe/internal/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }
