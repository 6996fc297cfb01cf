// What is told of a standstill.

package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/test/chaos/internal/check"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

// With a standstill it is told what each worker did last in that workload, in its newest
// incarnation, and what znodes there were.
func TestAStandstillIsTold(t *testing.T) {
	t.Parallel()
	step := func(at int64, work, party, what string) history.Event {
		return history.Event{Kind: history.Step, Work: work, Party: party, Value: what, At: at * ms}
	}
	stands := func(at int64, work, path string) history.Event {
		return history.Event{Kind: history.Stands, Work: work, Thing: path, Value: "as it is", At: at * ms}
	}
	mark := func(at int64, kind history.Kind) history.Event { return history.Event{Kind: kind, At: at * ms} }
	run := check.Run{Settings: check.Settings{Works: []string{"double"}, Settle: 3 * time.Second}, Events: []history.Event{
		moved(1, "double"), step(2, "double", "w0.1", "enters"), step(3, "double", "w1.1", "leaves"), step(4, "double", "w0.2", "begun"), step(5, "lock", "w0.2", "waits"),
		stands(6, "double", "/double/before"),
		mark(10, history.CalmBegan), stands(4000, "double", "/double/rounds"), stands(4001, "lock", "/lock/line"), stands(4002, "", "w0.2"), mark(4010, history.CalmEnded),
		step(5000, "double", "w1.1", "ended"),
	}}
	all := check.All(run)
	require.Len(t, all, 1)
	require.Equal(t, []string{"w0.2 since 0.004: begun", "w1.1 since 0.003: leaves", "/double/rounds as it is", "w0.2 as it is"}, all[0].More)
	require.Contains(t, all[0].String(), "nothing moved for 4.0 s after the last fault\n    w0.2 since")
}
