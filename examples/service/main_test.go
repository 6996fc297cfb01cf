package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
)

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(m)
}
