// The program: a short run, and flags that are wrong.

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/test/chaos/internal/run"
)

// TestMain lets the test's binary be a worker, as the program is.
func TestMain(m *testing.M) {
	if text := os.Getenv(run.WorkerEnv); text != "" {
		os.Exit(program())
	}
	goleak.VerifyTestMain(m)
}

// A short run without faults: everything works, and nothing is left.
func TestARunWithoutFaults(t *testing.T) {
	tier.Soak(t)
	report := filepath.Join(t.TempDir(), "report")
	ok, err := chaos(context.Background(), []string{"-duration", "2s", "-calm", "1s", "-faults", "none", "-seed", "1", "-work", "lock,queue", "-report", report}, io.Discard)
	require.NoError(t, err)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.True(t, ok, string(text))
	var r run.Report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Positive(t, r.Operations["lock"])
	require.Positive(t, r.Operations["queue"])
	require.Positive(t, r.Acts)
	require.Zero(t, r.Epochs, "no session has ended but by Close")
}

func TestWhatIsWrongWithTheFlagsIsTold(t *testing.T) {
	for _, c := range []struct{ flag, value string }{{"-work", "play"}, {"-faults", "flood"}} {
		_, err := chaos(context.Background(), []string{"-duration", "1s", c.flag, c.value}, io.Discard)
		require.ErrorContains(t, err, c.value)
	}
}
