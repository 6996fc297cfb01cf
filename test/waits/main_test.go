package waits_test

import (
	"testing"

	"github.com/troupe-go/troupe/internal/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }
