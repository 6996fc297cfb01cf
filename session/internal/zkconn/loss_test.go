// Servers that hang up on the session since they have lost what it has seen, or only seem to.
// Helpers: fates below, helper_test.go.

package zkconn_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// fate is how a server is.
type fate struct {
	last   int64 // the last transaction that it has carried out; it hangs up on clients that have seen a later one
	behind int64 // by so much it lags; a transaction has it catch up
	away   bool  // it has no quorum: it hangs up on every client
	down   bool  // it refuses connections
	silent bool  // it takes connections and says nothing
}

const seen = 100 // the latest transaction that the Conn has seen

// intact is a server that has what the Conn has seen.
var intact = fate{last: seen}

// fates sets how the servers are: all of them, or each of [threeServers].
func (b *bench) fates(all ...fate) {
	of := func(addr string) fate {
		return all[strings.IndexByte("ab[", addr[0])%len(all)]
	}
	b.script(func() {
		b.refuse = func(addr string) error {
			if of(addr).down {
				return errRefused
			}
			return nil
		}
		b.hangsUp = func(v *visit) bool {
			f := of(v.addr)
			v.mu.Lock()
			v.zxid = f.last
			v.mu.Unlock()
			if f.silent {
				<-b.Context().Done()
			}
			return f.away || v.hello.LastZxidSeen > f.last-f.behind
		}
		b.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			answer := agrees(q)
			if q.SessionID == 0 && b.SessionID() != 0 {
				answer.SessionID = 8
			}
			return answer, true
		}
	})
}

// losesItsServers connects, sees a transaction, and has the servers meet their fates.
func (b *bench) losesItsServers(all ...fate) {
	b.fates(intact)
	v := b.connected()
	v.mu.Lock()
	v.zxid = seen - 1
	v.mu.Unlock()
	require.NoError(b, b.Sync("/"))
	require.EqualValues(b, seen, b.LastZxid())
	b.fates(all...)
	v.hangUp()
}

// scouts are the connections that asked for another session than the Conn's.
func (b *bench) scouts() (all []*visit) {
	b.script(func() {
		for _, v := range b.visits[1:] {
			if v.hello.SessionID == 0 {
				all = append(all, v)
			}
		}
	})
	return all
}

func TestHistoryIsGoneWhereScoutsOfMoreThanHalfSaySo(t *testing.T) {
	emptied, lagging, away, down, silent := fate{last: 3}, fate{last: seen + 50, behind: 60}, fate{away: true}, fate{down: true}, fate{silent: true}
	type row struct {
		fates []fate
		gone  bool
	}
	each(t, map[string]row{
		"all are emptied":                                {[]fate{emptied}, true},
		"all get to what was seen, and not above":        {[]fate{{last: seen - 1}}, true},
		"two are emptied, the third is down":             {[]fate{emptied, emptied, down}, true},
		"two are emptied, the third has no quorum":       {[]fate{emptied, away, emptied}, true},
		"two are emptied, the third is silent":           {[]fate{silent, emptied, emptied}, true},
		"none has a quorum":                              {[]fate{away}, false},
		"all lag":                                        {[]fate{lagging}, false},
		"two are emptied, the third lags":                {[]fate{emptied, emptied, lagging}, false},
		"one is emptied, the others have no quorum":      {[]fate{emptied, away, away}, false},
		"one is emptied, one has no quorum, one is down": {[]fate{away, emptied, down}, false},
		"one is emptied, the others are silent":          {[]fate{silent, silent, emptied}, false},
	}, func(b *bench, row row) {
		b.losesItsServers(row.fates...)
		lost := time.Now()
		time.Sleep(10 * timeout)
		b.script(func() {
			for _, v := range b.visits {
				if v.hello.SessionID == 7 && len(v.ops()) == 0 {
					require.EqualValues(b, seen, v.hello.LastZxidSeen, "the session is asked for by what it has seen")
				}
			}
		})
		ended, at := told[zkconn.Ended](b.sink)
		if row.gone {
			require.Len(b, ended, 1)
			require.ErrorIs(b, ended[0].Cause, zkconn.ErrDataLoss)
			require.Greater(b, at[0].Sub(lost), timeout)
			require.Less(b, at[0].Sub(lost), 4*timeout, "at the third address at the latest")
			b.closedOnce()
			require.NoError(b, b.Close(within(b, timeout)))
			return
		}
		require.Empty(b, ended)
		b.fates(intact)
		time.Sleep(3 * timeout) // a connection that is silent may be waited for
		require.EqualValues(b, 7, last[zkconn.Up](b.sink).SessionID, "scouts have not seen anything")
		require.EqualValues(b, seen, b.connected().hello.LastZxidSeen)
	}, threeServers)
}

// closedOnce: the session was closed at an address whose scout was just answered, and asked for
// with nothing seen.
func (b *bench) closedOnce() {
	var closings []*visit
	b.script(func() {
		for _, v := range b.visits[1:] {
			if v.hello.SessionID == 7 && v.hello.LastZxidSeen == 0 {
				closings = append(closings, v)
			}
		}
	})
	require.Len(b, closings, 1)
	require.Equal(b, []jute.Op{jute.OpCloseSession}, closings[0].ops())
	var answered []*visit
	for _, v := range b.scouts() {
		if len(v.ops()) > 0 {
			require.Equal(b, []jute.Op{jute.OpMulti, jute.OpCloseSession}, v.ops())
			answered = append(answered, v)
		}
	}
	require.Equal(b, answered[len(answered)-1].addr, closings[0].addr)
}

// Scouts are sent to servers that hang up for the timeout, one in each.
func TestScoutsAreFew(t *testing.T) {
	type row struct {
		fate     fate
		expected int
	}
	each(t, map[string]row{
		"they hang up":            {fate{away: true}, 9},
		"they refuse connections": {fate{down: true}, 0},
		"they are silent":         {fate{silent: true}, 0},
		"they have what was seen": {intact, 0},
		"they lag":                {fate{last: seen + 50, behind: 60}, 8},
		"the session is closed":   {fate{away: true}, 0},
	}, func(b *bench, row row) {
		b.losesItsServers(row.fate)
		lost := time.Now()
		if row.fate.away && row.expected == 0 {
			b.beginClose(20 * timeout)
		}
		time.Sleep(10 * timeout)
		scouts := b.scouts()
		require.InDelta(b, row.expected, len(scouts), 1)
		if row.expected < 9 {
			return
		}
		at := map[string]int{}
		for _, s := range scouts {
			at[s.addr]++
		}
		require.Len(b, at, 3, "in turn: %v", at)
		require.Subset(b, []int{2, 3, 4}, slices.Collect(maps.Values(at)))
		for _, d := range b.dialled()[1:] {
			if d.at.Sub(lost) < timeout {
				continue
			}
			require.Less(b, d.at.Sub(lost), timeout+2*time.Second)
			break
		}
	}, threeServers)
}

// While too few servers have lost what was seen, the log says what they have.
func TestTheLogSaysBothTransactions(t *testing.T) {
	var log bubble.Log
	inBubble(t, func(b *bench) {
		b.losesItsServers(fate{last: 3}, fate{away: true}, fate{down: true})
		time.Sleep(20 * timeout)
		require.NotZero(b, log.Count("a:1: it hangs up: its next transaction is 0x4, and the session has seen 0x64;"))
	}, threeServers, func(_ *fake, cfg *zkconn.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
}

// The session after one that has seen a transaction asks for it too.
func TestTheNextSessionStandsByWhatWasSeen(t *testing.T) {
	type row struct {
		zxid int64 // of the first reply
		does func(b *bench) error
		gone bool
	}
	each(t, map[string]row{
		"a transaction that is not above": {seen, (*bench).createsOne, true},
		"one that is":                     {seen + 1, (*bench).createsOne, false},
		"no transaction":                  {seen, func(b *bench) error { return b.Sync("/") }, false},
	}, func(b *bench, row row) {
		v := b.connected()
		require.EqualValues(b, seen, v.hello.LastZxidSeen)
		v.mu.Lock()
		v.zxid = row.zxid - 1
		v.mu.Unlock()
		require.NoError(b, row.does(b))
		synctest.Wait()
		ended, _ := told[zkconn.Ended](b.sink)
		if !row.gone {
			require.Empty(b, ended)
			return
		}
		require.Len(b, ended, 1)
		require.ErrorIs(b, ended[0].Cause, zkconn.ErrDataLoss)
	}, func(_ *fake, cfg *zkconn.Config) { cfg.Seen = seen })
}

func (b *bench) createsOne() error {
	_, err := b.Create("/a", nil, jute.FlagPersistent, 0, nil)
	return err
}

func TestTheNextSessionDoesNotBeginWhereHistoryIsGone(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fates(fate{last: 3})
		time.Sleep(10 * timeout)
		require.ErrorIs(b, last[zkconn.Ended](b.sink).Cause, zkconn.ErrDataLoss)
		ups, _ := told[zkconn.Up](b.sink)
		require.Empty(b, ups)
	}, threeServers, func(f *fake, cfg *zkconn.Config) {
		cfg.Seen = seen
		f.refuse = func(string) error { return errRefused }
	})
}

// The root may not be read.
func TestACheckThatIsRefusedIsATransactionToo(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.losesItsServers(fate{last: 3})
		b.answers(except(jute.OpMulti, refuses(jute.NoAuth)))
		time.Sleep(5 * timeout)
		require.ErrorIs(b, last[zkconn.Ended](b.sink).Cause, zkconn.ErrDataLoss)
	}, threeServers)
}

func TestTheTimeBeginsAnewWhenTheSessionIsTaken(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.losesItsServers(fate{away: true})
		for range 3 {
			time.Sleep(timeout * 3 / 4)
			b.fates(intact)
			time.Sleep(2 * time.Second)
			v := b.connected()
			b.fates(fate{away: true})
			v.hangUp()
		}
		require.Empty(b, b.scouts())
	}, threeServers)
}

// A name loses the addresses of servers that are down. They count all the same: one server that was
// emptied and runs alone is not more than half.
func TestAddressesThatANameHasLostCount(t *testing.T) {
	addresses := []string{"a", "b", "::1"}
	inBubble(t, func(b *bench) {
		b.connected()
		b.script(func() { addresses = []string{"a"} })
		b.losesItsServers(fate{last: 3}, fate{down: true}, fate{down: true})
		time.Sleep(10 * timeout)
		require.NotEmpty(b, b.scouts())
		ended, _ := told[zkconn.Ended](b.sink)
		require.Empty(b, ended)
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Servers = []string{"name:1"}
		cfg.Lookup = func(context.Context, string) (all []string, _ error) {
			f.script(func() { all = slices.Clone(addresses) })
			return all, nil
		}
	})
}
