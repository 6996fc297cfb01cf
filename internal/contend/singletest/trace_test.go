package singletest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machinetest"
	"github.com/troupe-go/troupe/machine"
)

const path = "/controller"

// declared is the table.
var declared = func() *machinetest.Table {
	table := &machinetest.Table{}
	for _, tr := range contend.Transitions(contend.Single) {
		table.Declare(tr.From, tr.On, tr.To, tr.Why)
	}
	return table
}()

func subject() machinetest.Subject {
	m := contend.NewSingle(path)
	return machinetest.Subject{Machine: m, State: func() string { return m.State().String() }}
}

// dialect: there is one znode, which is not named.
var dialect = machinetest.Dialect{
	New:  func([]string) machinetest.Subject { return subject() },
	Path: func(string) string { return path },
	Show: show,
}

// TestTraces plays the stories in testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	for name, story := range machinetest.Stories(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played, taken := dialect.Play(t, story)
			require.Empty(t, declared.Undeclared(taken))
			require.Equal(t, machinetest.Golden(t, name+".txt", played), played)
		})
	}
}

// TestTransitions: the stories take every transition that the table declares, and the table
// declares each once and gives a reason.
func TestTransitions(t *testing.T) {
	t.Parallel()
	require.Empty(t, declared.Faults(dialect.Taken(t)))
}

func show(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Enter:
		return fmt.Sprintf("enter #%d", e.Ask)
	case machine.Read:
		return fmt.Sprintf("read #%d and watch", e.Ask)
	case machine.Unwatch:
		return "unwatch"
	case machine.Remove:
		return "leave"
	case machine.Grant:
		return fmt.Sprintf("grant %d token=%d", e.Claim, e.Token)
	case machine.End:
		causes := map[machine.Cause]string{machine.EndDeleted: "deleted", machine.EndExpired: "expired", machine.EndUnwatched: "unwatched"}
		return strings.TrimRight(fmt.Sprintf("end %d %s %v", e.Claim, causes[e.Cause], orNothing(e.Err)), " ")
	case machine.Settle:
		return strings.TrimRight(fmt.Sprintf("settle %d %v", e.Claim, orNothing(e.Err)), " ")
	}
	return ""
}

func orNothing(err error) any {
	if err == nil {
		return ""
	}
	return err
}
