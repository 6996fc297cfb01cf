package delaytest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/contend"
	"github.com/troupe-go/troupe/internal/machinetest"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

const parent = "/line"

// declared is the table.
var declared = func() *machinetest.Table {
	table := &machinetest.Table{}
	for _, tr := range contend.Transitions(contend.Delay) {
		table.Declare(tr.From, "", tr.To, tr.Why)
	}
	return table
}()

// subject stands where its delay does; stories tell where the machine stands, too.
func subject() machinetest.Subject {
	m := contend.New(contend.Config{Parent: parent, Delay: 1})
	return machinetest.Subject{
		Machine: m,
		State:   func() string { return m.Delay().String() },
		At:      func() string { return m.Delay().String() + ", " + m.State().String() },
	}
}

// dialect: in a story "lock-5" is the contender lock-0000000005.
var dialect = machinetest.Dialect{
	New: func([]string) machinetest.Subject { return subject() },
	Path: func(short string) string {
		head, n, _ := strings.Cut(short, "-")
		i, _ := strconv.Atoi(n)
		return fmt.Sprintf("%s/%s-%010d", parent, head, i)
	},
	Short: short,
	Event: event,
	Show:  show,
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

func short(path string) string {
	_, full := znode.Split(path)
	c, _ := znode.ParseContender(full)
	return fmt.Sprintf("%s%d", c.Prefix, c.Seq)
}

func event(p *machinetest.Teller, verb string, w machinetest.Words) machine.Event {
	if verb != "recorded" {
		return nil
	}
	return machine.Recorded{Epoch: p.Epoch(w), Ask: w.Ask, Token: w.Number("token", 0), Version: int32(w.Number("version", 0)), Err: w.Err()}
}

func show(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Enter:
		if e.Replace != "" {
			return "enter in place of " + short(e.Replace)
		}
		return "enter"
	case machine.List:
		return "list"
	case machine.Read:
		return "read " + short(e.Path)
	case machine.Wake:
		if e.After > 0 {
			return "delay"
		}
		return "wake"
	case machine.Record:
		return fmt.Sprintf("record token=%d while %s stands, version=%d", e.Token, short(e.Own), e.Version)
	case machine.Release:
		return "release " + short(e.Path) + " with the record"
	case machine.End:
		return fmt.Sprintf("end %d cause=%d", e.Claim, e.Cause)
	}
	return ""
}
