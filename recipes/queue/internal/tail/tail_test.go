package tail_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// appends are the operations that append one item, as a reader sees them.
func appends(end *tail.Tail, l layout.Lane) (lines []string, parts []tail.Part) {
	ops, parts := end.Append([]tail.Addition{{Lane: l, Prefix: "a-"}})
	for _, op := range ops {
		lines = append(lines, op.String())
	}
	return lines, parts
}

func done(end *tail.Tail, parts []tail.Part, name string) {
	for _, p := range parts {
		end.Done(p, machine.Result{Path: "/" + name})
	}
}

// A bucket is made with its claims, checked, and sealed when it is full, which makes the next.
func TestABucketIsMadeCheckedAndSealed(t *testing.T) {
	t.Parallel()
	end := tail.New("/q", 3)
	require.False(t, end.Known())
	end.Listed(nil, nil)
	for n, want := range [][]string{
		{`create /q/items/5-0000000000 ""`, `create /q/claims/5-0000000000 ""`, `create /q/items/5-0000000000/a- sequential ""`},
		{`check /q/items/5-0000000000 v0`, `create /q/items/5-0000000000/a- sequential ""`},
		{`set /q/items/5-0000000000 v0 ""`, `create /q/items/5-0000000001 ""`, `create /q/claims/5-0000000001 ""`, `create /q/items/5-0000000000/a- sequential ""`},
		{`check /q/items/5-0000000001 v0`, `create /q/items/5-0000000001/a- sequential ""`},
	} {
		ops, parts := appends(end, layout.Lane{Priority: 5})
		require.Equal(t, want, ops)
		done(end, parts, []string{"a-0000000000", "a-0000000001", "a-0000000002", "a-0000000000"}[n])
	}
	ops, _ := appends(end, layout.Lane{Later: true, Slot: 1024})
	require.Equal(t, []string{`create /q/later/1024-0000000000 ""`, `create /q/later/1024-0000000000/a- sequential ""`}, ops)
}

// The failure of a transaction, and the listing behind it, say where the next item goes.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after []string     // the names in items/, by the listings before the failure and after it
		part          int          // the operation that fails
		code          machine.Code // why
		missing       bool         // a parent has to be made
		next          string       // the first operation of the next transaction
	}{
		"sealed":                         {[]string{"0-0000000005"}, []string{"0-0000000006", "0-0000000005"}, 0, machine.BadVersion, false, "check /q/items/0-0000000006 v0"},
		"sealed, and there is no next":   {[]string{"0-0000000005"}, []string{"0-0000000005"}, 0, machine.BadVersion, false, `create /q/items/0-0000000006 ""`},
		"gone, and so are all":           {[]string{"0-0000000005"}, nil, 0, machine.NoNode, false, `create /q/items/0-0000000000 ""`},
		"sealed, and then all are gone":  {[]string{"0-0000000005"}, nil, 0, machine.BadVersion, false, `create /q/items/0-0000000000 ""`},
		"gone, and it is another queue":  {[]string{"0-0000000005"}, []string{"0-0000000004"}, 0, machine.NoNode, false, "check /q/items/0-0000000004 v0"},
		"gone, and there is a new one":   {[]string{"0-0000000007"}, []string{"0-0000000009"}, 0, machine.NoNode, false, "check /q/items/0-0000000009 v0"},
		"made by another producer":       {nil, []string{"0-0000000000"}, 0, machine.NodeExists, false, "check /q/items/0-0000000000 v0"},
		"the parent of items is gone":    {nil, nil, 0, machine.NoNode, true, `create /q/items/0-0000000000 ""`},
		"the parent of claims is gone":   {nil, nil, 1, machine.NoNode, true, `create /q/items/0-0000000000 ""`},
		"names that are not the queue's": {[]string{"x", "0-5", "0-0000000001"}, []string{"0-0000000001"}, 1, machine.Refused, false, "check /q/items/0-0000000001 v0"},
	} {
		end := tail.New("/q", 500)
		end.Listed(c.before, nil)
		_, parts := appends(end, layout.Lane{})
		require.Equal(t, c.missing, end.Failed(parts[c.part], c.code), name)
		require.False(t, end.Known(), name)
		end.Listed(c.after, nil)
		ops, _ := appends(end, layout.Lane{})
		require.Equal(t, c.next, ops[0], name)
	}
}

// A bucket was deleted without its claims: the next bucket with its number is made without them.
func TestClaimsAreThereAlready(t *testing.T) {
	t.Parallel()
	end := tail.New("/q", 500)
	end.Listed(nil, nil)
	_, parts := appends(end, layout.Lane{})
	require.False(t, end.Failed(parts[1], machine.NodeExists))
	ops, _ := appends(end, layout.Lane{})
	require.Equal(t, []string{`create /q/items/0-0000000000 ""`, `create /q/items/0-0000000000/a- sequential ""`}, ops)
}
