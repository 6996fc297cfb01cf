package machine_test

// Requests: numbers, keys, and which answers are valid.

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the type of the keys.
type key struct{ what, name string }

type requests = machine.Requests[key]

func begun() *requests {
	r := &requests{}
	r.Begin(1)
	return r
}

func TestEveryRequestIsNumbered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked machine.Request
		want  machine.Effect
	}{
		"list": {machine.List{Path: "/a", Watch: true}, machine.List{Epoch: 1, Ask: 1, Path: "/a", Watch: true}},
		"read": {machine.Read{Path: "/a"}, machine.Read{Epoch: 1, Ask: 1, Path: "/a"}},
		"multi-read": {
			machine.MultiRead{Queries: []machine.Query{{Path: "/a"}}}, machine.MultiRead{Epoch: 1, Ask: 1, Queries: []machine.Query{{Path: "/a"}}},
		},
		"transact": {machine.Transact{}, machine.Transact{Epoch: 1, Ask: 1}},
		"ensure":   {machine.Ensure{Path: "/a"}, machine.Ensure{Epoch: 1, Ask: 1, Path: "/a"}},
		"remove":   {machine.Remove{Path: "/a"}, machine.Remove{Epoch: 1, Ask: 1, Path: "/a"}},
		"enter":    {machine.Enter{Replace: "/a"}, machine.Enter{Epoch: 1, Ask: 1, Replace: "/a"}},
		"record":   {machine.Record{Path: "/a"}, machine.Record{Epoch: 1, Ask: 1, Path: "/a"}},
		"wake":     {machine.Wake{After: 5}, machine.Wake{Ask: 1, After: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begun()
			require.EqualValues(t, 1, r.Ask(c.asked, key{"x", ""}))
			r.Emit(machine.Stop{})
			require.Equal(t, []machine.Effect{c.want, machine.Stop{}}, r.Flush())
			require.Empty(t, r.Flush(), "each step has its own")
			require.True(t, r.Pending(key{"x", ""}))
		})
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	x, y := key{"x", "1"}, key{"x", "2"}
	read := machine.Read{Path: "/a"}
	for name, c := range map[string]struct {
		before func(r *requests) // in epoch 1, before the event
		ev     machine.Event
		key    key  // of the request that it answers; zero: of none
		ok     bool // it is valid
	}{
		"the answer":                 {func(r *requests) { r.Ask(read, x) }, machine.Seen{Epoch: 1, Ask: 1}, x, true},
		"of two":                     {func(r *requests) { r.Ask(read, x); r.Ask(read, y) }, machine.Seen{Epoch: 1, Ask: 2}, y, true},
		"overtaken by the next":      {func(r *requests) { r.Ask(read, x); r.Ask(read, y) }, machine.Seen{Epoch: 1, Ask: 1}, x, true},
		"of an unknown number":       {func(r *requests) { r.Ask(read, x) }, machine.Seen{Epoch: 1, Ask: 2}, key{}, false},
		"of another epoch":           {func(r *requests) { r.Ask(read, x) }, machine.Seen{Epoch: 2, Ask: 1}, key{}, false},
		"replaced":                   {func(r *requests) { r.Ask(read, x); r.Ask(read, x) }, machine.Seen{Epoch: 1, Ask: 1}, key{}, false},
		"to what replaced it":        {func(r *requests) { r.Ask(read, x); r.Ask(read, x) }, machine.Seen{Epoch: 1, Ask: 2}, x, true},
		"forgotten":                  {func(r *requests) { r.Ask(read, x); r.Forget(y, x) }, machine.Seen{Epoch: 1, Ask: 1}, key{}, false},
		"after the epoch":            {func(r *requests) { r.Ask(read, x); r.End() }, machine.Seen{Epoch: 1, Ask: 1}, key{}, false},
		"in the next epoch":          {func(r *requests) { r.Ask(read, x); r.Begin(2) }, machine.Seen{Epoch: 1, Ask: 1}, key{}, false},
		"that took no number":        {nil, machine.Removed{Epoch: 1, Path: "/a"}, key{}, true},
		"of another epoch, unasked":  {nil, machine.Removed{Epoch: 2, Path: "/a"}, key{}, false},
		"listed":                     {func(r *requests) { r.Ask(machine.List{}, x) }, machine.Listed{Epoch: 1, Ask: 1}, x, true},
		"multi-seen":                 {func(r *requests) { r.Ask(machine.MultiRead{}, x) }, machine.MultiSeen{Epoch: 1, Ask: 1}, x, true},
		"transacted":                 {func(r *requests) { r.Ask(machine.Transact{}, x) }, machine.Transacted{Epoch: 1, Ask: 1}, x, true},
		"ensured":                    {func(r *requests) { r.Ask(machine.Ensure{}, x) }, machine.Ensured{Epoch: 1, Ask: 1}, x, true},
		"removed":                    {func(r *requests) { r.Ask(machine.Remove{}, x) }, machine.Removed{Epoch: 1, Ask: 1}, x, true},
		"recorded":                   {func(r *requests) { r.Ask(machine.Record{}, x) }, machine.Recorded{Epoch: 1, Ask: 1}, x, true},
		"woke":                       {func(r *requests) { r.Ask(machine.Wake{}, x) }, machine.Woke{Ask: 1}, x, true},
		"woke after the epoch":       {func(r *requests) { r.Ask(machine.Wake{}, x); r.End() }, machine.Woke{Ask: 1}, x, true},
		"woke in the next":           {func(r *requests) { r.Ask(machine.Wake{}, x); r.Begin(2) }, machine.Woke{Ask: 1}, x, true},
		"woke though cancelled":      {func(r *requests) { r.Ask(machine.Wake{}, x); r.Cancel(x) }, machine.Woke{Ask: 1}, key{}, false},
		"the listing of an entry":    {func(r *requests) { r.Ask(machine.Enter{}, x) }, machine.Listed{Epoch: 1, Ask: 1}, x, true},
		"entered":                    {func(r *requests) { r.Ask(machine.Enter{}, x) }, machine.Entered{Epoch: 1}, key{}, true},
		"entered in another epoch":   {nil, machine.Entered{Epoch: 2}, key{}, false},
		"downgraded":                 {nil, machine.Downgraded{Epoch: 1}, key{}, true},
		"downgraded before":          {func(r *requests) { r.Begin(2) }, machine.Downgraded{Epoch: 1}, key{}, false},
		"fired":                      {nil, machine.Fired{Epoch: 1}, key{}, true},
		"fired in another epoch":     {nil, machine.Fired{Epoch: 2}, key{}, false},
		"an epoch begins":            {nil, machine.EpochBegan{Epoch: 2}, key{}, true},
		"the first epoch begins":     {func(r *requests) { r.End() }, machine.EpochBegan{Epoch: 1}, key{}, true},
		"the epoch ended":            {nil, machine.EpochEnded{Epoch: 1}, key{}, true},
		"the one before ended":       {func(r *requests) { r.Begin(2) }, machine.EpochEnded{Epoch: 1}, key{}, false},
		"suspended":                  {nil, machine.Suspended{Epoch: 1}, key{}, true},
		"suspended when there is no": {func(r *requests) { r.End() }, machine.Suspended{}, key{}, false},
		"resumed in another epoch":   {nil, machine.Resumed{Epoch: 2}, key{}, false},
		"trust ended before":         {nil, machine.TrustEnded{Epoch: 2}, key{}, false},
		"trust gained":               {nil, machine.TrustGained{Epoch: 1}, key{}, true},
		"an intent":                  {func(r *requests) { r.End() }, machine.Closing{}, key{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begun()
			if c.before != nil {
				c.before(r)
			}
			got, ok := r.Accept(c.ev)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.key, got)
			if ok && got != (key{}) {
				require.False(t, r.Pending(got))
				_, ok = r.Accept(c.ev)
				require.False(t, ok, "an answer counts once")
			}
		})
	}
}

func TestNumbersAreNeverReused(t *testing.T) {
	t.Parallel()
	r := begun()
	require.EqualValues(t, 1, r.Epoch())
	r.Ask(machine.Read{}, key{"x", ""})
	r.Forget(key{"x", ""})
	r.Begin(2)
	require.EqualValues(t, 2, r.Epoch())
	require.EqualValues(t, 1, r.Last())
	require.EqualValues(t, 2, r.Ask(machine.Read{}, key{"x", ""}))
	r.End()
	require.Zero(t, r.Epoch())
	require.EqualValues(t, 2, r.Last())
	require.False(t, r.Pending(key{"x", ""}))
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := begun()
	r.Cancel(key{"x", ""})
	require.Empty(t, r.Flush(), "nothing to cancel")
	r.Ask(machine.Wake{After: 1}, key{"x", ""})
	r.Cancel(key{"x", ""})
	require.Equal(t, []machine.Effect{machine.Wake{Ask: 1, After: 1}, machine.Cancel{Ask: 1}}, r.Flush())
	r.Ask(machine.Wake{After: 1}, key{"x", ""})
	_, ok := r.Accept(machine.Woke{Ask: 2})
	require.True(t, ok)
	r.Flush()
	r.Cancel(key{"x", ""})
	require.Empty(t, r.Flush(), "it went off")
}
