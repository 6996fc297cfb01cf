package main

// troupe tx: which transactions there are, and what each site has voted.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/twopc"
)

// Both sites vote to commit t-1, and ledger acknowledges it; stock aborts t-2, with a reason that
// has an escape sequence; stock does not vote on t-3, which stays undecided.
func TestTxCommands(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		c := must(twopc.NewCoordinator(t.Session(), "/pay"))
		proposals := map[string]<-chan *twopc.Proposal{}
		for _, name := range []string{"ledger", "stock"} {
			s := must(twopc.NewSite(t.Session(), "/pay", name))
			proposals[name] = s.Proposals()
		}
		var voted [3]*twopc.Proposal // by ledger
		for i, id := range []string{"t-1", "t-2", "t-3"} {
			must(c.Begin(bubble.Minute(t), id, nil, "ledger", "stock"))
			voted[i] = bubble.Get(t, proposals["ledger"])
			require.NoError(t, voted[i].VoteCommit(bubble.Minute(t)))
		}
		require.NoError(t, bubble.Get(t, proposals["stock"]).VoteCommit(bubble.Minute(t)))
		bubble.Closes(t, voted[0].Decided())
		require.NoError(t, voted[0].Ack(bubble.Minute(t)))
		require.NoError(t, bubble.Get(t, proposals["stock"]).VoteAbort(bubble.Minute(t), "out of \x1b[31mstock"))
		require.NoError(t, t.Server.Znodes(t).Create("/pay/tx/foreign", []byte("{}")))
		golden(t, "tx", each("tx ls /pay\ntx show /pay t-2\ntx show /pay t-2 -o json\ntx show /pay no\ntx ls /no\ntx ls /zookeeper\ntx ls /pay/inbox/ledger/x")...)
	})
}
