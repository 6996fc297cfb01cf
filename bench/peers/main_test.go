//go:build unix

package main

// A few cycles of some rows, for all participants, on one server.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
)

func TestAShortRunReportsEveryParticipantAndNoFault(t *testing.T) {
	tier.Real(t)
	o := options{rows: "uncontended,handover,drain,shared,barrier,queue11,queue44,treechange", servers: 1, rounds: 1, divide: 50, write: filepath.Join(t.TempDir(), "report.md")}
	require.NoError(t, o.run())
	report, _ := os.ReadFile(o.write)
	for name := range strings.FieldsSeq(all) {
		require.Contains(t, string(report), "\n| "+name+" | ")
	}
}
