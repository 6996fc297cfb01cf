package election_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// leadershipModel is an election: a term begins when there is none, with a token larger than all
// before, and is ended by its leader.
var leadershipModel = porcupine.Model{
	Init: func() any { return [2]int64{} }, // the token of the term, 0 for none; the largest token
	Step: func(state, in, out any) (bool, any) {
		s, token := state.([2]int64), out.(int64)
		if in == "term" {
			return s[0] == 0 && token > s[1], [2]int64{token, token}
		}
		return s[0] == token, [2]int64{0, s[1]}
	},
}

// Terms and their ends, as candidates saw them under disconnections, and partitions within and
// beyond the session's timeout, have an order that an election could have had. (A session that the
// server ends out of turn is no part of that: nobody could know of it in time.)
func TestHistoryUnderFaults(t *testing.T) {
	t.Parallel()
	tier.Seeds(t, 10, func(t *testing.T, seed uint64) {
		bubble.Run(t, func(t *bubble.World) {
			rng := rand.New(rand.NewPCG(seed, 3))
			began := time.Now()
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			var mu sync.Mutex
			var history []porcupine.Operation
			note := func(id int, in string, token int64, call, ret time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				history = append(history, porcupine.Operation{ClientId: id, Input: in, Output: token, Call: int64(call), Return: int64(ret)})
			}
			var machines []zktest.Host
			var sessions []*session.Session
			var all sync.WaitGroup
			for id, name := range []string{"a", "b", "c", "d"} {
				machine := t.Server.Host(name)
				s, err := session.Open(t.Context(), t.Server.Hosts(), session.WithDialer(machine.Dialer()), session.WithTimeout(6*time.Second))
				require.NoError(t, err)
				machines, sessions = append(machines, machine), append(sessions, s)
				e, err := election.New(s, "/history", election.WithID(name))
				require.NoError(t, err)
				all.Go(func() { // ends with ctx
					e.Campaign()
					for from := time.Since(began); ; from = time.Since(began) {
						select {
						case term := <-e.Leader():
							note(id, "term", term.Token(), from, time.Since(began))
							select {
							case <-term.Done():
							case <-time.After(time.Duration(1+id) * time.Second):
								all.Go(func() { _ = term.Resign(ctx) }) // beside it: Done closes first, and the moment counts
							}
							select {
							case <-term.Done():
							case <-time.After(time.Minute):
								t.Error("a term that was resigned goes on")
							}
							at := time.Since(began)
							note(id, "end", term.Token(), at, at)
						case <-ctx.Done():
							return
						}
					}
				})
			}
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Second))))
				i := rng.IntN(len(sessions))
				if rng.IntN(3) == 0 {
					t.Server.Disconnect(sessions[i].Status().SessionID)
					continue
				}
				heal := machines[i].Partition()
				time.Sleep(time.Duration(rng.Int64N(int64(15 * time.Second))))
				heal()
			}
			all.Wait()
			for _, s := range sessions {
				require.NoError(t, s.Close(bubble.Minute(t)))
			}
			t.Logf("%d terms and ends", len(history))
			require.Greater(t, len(history), 40)
			require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(leadershipModel, history, time.Minute))
		})
	})
}
