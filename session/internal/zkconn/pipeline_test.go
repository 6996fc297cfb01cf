// Pipelines: how much is under way, and what is known of each request. Helpers: helper_test.go.

package zkconn_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// pipeline has n creates with so many bytes of data each.
func pipeline(n, bytes int) *zkconn.Pipeline {
	p := new(zkconn.Pipeline)
	for i := range n {
		p.Add(jute.Request{Op: jute.OpCreate, Path: "/n" + strconv.Itoa(i), Data: make([]byte, bytes)})
	}
	return p
}

// sending is a pipeline under way.
func sending(b *bench, p *zkconn.Pipeline) <-chan error {
	return bubble.Begin(func() error { return errOf(p.Send(b.Conn)) })
}

// answer answers a request, and returns how many have come that are not answered.
func (v *visit) answer(i int) (underWay int) {
	v.mu.Lock()
	q := v.requests[i]
	v.mu.Unlock()
	v.reply(q, success(q))
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.requests) - i - 1
}

func TestAPipelineHasAWindow(t *testing.T) {
	each(t, map[string]struct{ n, bytes, first, most int }{
		"small requests":       {1000, 10, 16, 256},
		"large requests":       {200, 100_000, 1, 10},
		"larger than a window": {5, 500_000, 1, 2},
	}, func(b *bench, row struct{ n, bytes, first, most int }) {
		v := b.connected()
		b.answers(answersNothing)
		sent := sending(b, pipeline(row.n, row.bytes))
		synctest.Wait()
		require.Len(b, v.asked(), row.first)
		most := 0
		for i := range row.n {
			most = max(most, v.answer(i))
		}
		require.Equal(b, row.most, most)
		require.NoError(b, bubble.Now(b, sent))
	})
}

// A server whose replies take long is sent fewer requests at a time.
func TestAPipelinesWindowShrinks(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		sent := sending(b, pipeline(300, 10))
		synctest.Wait()
		most := 0
		for i := range 300 {
			time.Sleep(50 * time.Millisecond)
			q := v.asked()[i] // which leaves out pings
			v.reply(q, success(q))
			synctest.Wait()
			if i > 150 {
				most = max(most, len(v.asked())-i-1)
			}
		}
		require.Equal(b, 16, most)
		require.NoError(b, bubble.Now(b, sent))
	})
}

func TestAPipelineThatIsStoppedSendsNothingMore(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		p := pipeline(100, 10)
		sent := sending(b, p)
		synctest.Wait()
		for i := range 3 {
			v.answer(i)
		}
		results := p.Results()
		require.NoError(b, results[2].Err)
		require.Equal(b, zkconn.ErrNoReply, results[3].Err)
		require.Equal(b, zkconn.ErrNoReply, results[15].Err)
		require.Equal(b, zkconn.ErrNotSent, results[16].Err)
		for i := range 13 {
			v.answer(3 + i)
		}
		require.Len(b, v.asked(), 16)
		require.ErrorIs(b, bubble.Now(b, sent), zkconn.ErrNoReply)
	})
}
