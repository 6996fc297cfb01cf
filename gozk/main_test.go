package gozk_test

import (
	"testing"

	"github.com/troupe-go/troupe/internal/test/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }
