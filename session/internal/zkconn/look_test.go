// Several reads in one trip.

package zkconn_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// shelf is what the scripted server has: the sizes of data by path. What is missing here does not
// exist.
type shelf map[string]int

// read is the server's reply to a read, and its part in a multiRead.
func (s shelf) read(q jute.Request) jute.Result {
	size, found := s[q.Path]
	switch {
	case !found:
		return jute.Result{Op: jute.OpError, Err: jute.NoNode}
	case q.Op == jute.OpGetChildren:
		return jute.Result{Op: q.Op, Names: []string{"child of " + q.Path}}
	}
	return jute.Result{Op: q.Op, Data: make([]byte, size), Stat: jute.Stat{Version: int32(size)}}
}

func (s shelf) answer(_ *visit, q jute.Request) (jute.Reply, bool) {
	switch q.Op {
	case jute.OpGetData, jute.OpGetChildren:
		r := s.read(q)
		return jute.Reply{Err: r.Err, Data: r.Data, Stat: r.Stat, Names: r.Names}, true
	case jute.OpMultiRead:
		var p jute.Reply
		for _, part := range q.Ops {
			p.Results = append(p.Results, s.read(part))
		}
		return p, true
	}
	return success(q), true
}

// except is a server that answers one operation in another way.
func (s shelf) except(op jute.Op, answer func(*visit, jute.Request) (jute.Reply, bool)) func(*visit, jute.Request) (jute.Reply, bool) {
	return func(v *visit, q jute.Request) (jute.Reply, bool) {
		if q.Op == op {
			return answer(v, q)
		}
		return s.answer(v, q)
	}
}

func refuses(code jute.Code) func(*visit, jute.Request) (jute.Reply, bool) {
	return func(*visit, jute.Request) (jute.Reply, bool) { return failure(code), true }
}

// looks are queries with an outcome of each kind, and what is found on this shelf.
var (
	few   = shelf{"/a": 1, "/b": 2}
	looks = []zkconn.Query{{Path: "/a"}, {Path: "/b", Children: true}, {Path: "no path"}, {Path: "/none"}, {Path: "/none", Children: true}, {Path: "/b"}}
	finds = []zkconn.Found{
		{Data: make([]byte, 1), Stat: zkconn.Stat{Version: 1}},
		{Names: []string{"child of /b"}},
		{Err: zkconn.ErrInvalidPath},
		{Err: zkconn.ErrNoNode},
		{Err: zkconn.ErrNoNode},
		{Data: make([]byte, 2), Stat: zkconn.Stat{Version: 2}},
	}
)

// look looks, and checks what is found on that shelf.
func (b *bench) look() {
	b.Helper()
	found, err := b.Look(looks)
	require.NoError(b, err)
	for i := range found {
		found[i].Stat = zkconn.Stat{Version: found[i].Stat.Version} // times are not of interest
	}
	require.Equal(b, finds, found)
}

var singles = []jute.Op{jute.OpGetData, jute.OpGetChildren, jute.OpGetData, jute.OpGetChildren, jute.OpGetData}

func TestALookIsOneRequest(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.look()
		require.Equal(b, []jute.Op{jute.OpMultiRead}, v.ops())
		for _, queries := range [][]zkconn.Query{nil, {{Path: ""}}} {
			found, err := b.Look(queries)
			require.NoError(b, err)
			require.Len(b, found, len(queries))
		}
		require.Len(b, v.ops(), 1, "there was nothing to ask")
		var many []zkconn.Query
		for i := range 130 {
			many = append(many, zkconn.Query{Path: fmt.Sprint("/", i)})
		}
		found, err := b.Look(many)
		require.NoError(b, err)
		require.Len(b, found, 130)
		var paths []string
		for _, q := range v.asked()[1:] {
			require.Equal(b, jute.OpMultiRead, q.Op)
			require.LessOrEqual(b, len(q.Ops), 64)
			for _, part := range q.Ops {
				require.False(b, part.Watch)
				paths = append(paths, part.Path)
			}
		}
		require.True(b, slices.EqualFunc(many, paths, func(q zkconn.Query, path string) bool { return q.Path == path }), "in order")
	}, func(f *fake, _ *zkconn.Config) { f.answer = few.answer })
}

// A server that does not know multiRead says so, or hangs up. Then single requests are sent, in one
// write, and multiRead is not asked for again.
func TestServersThatLackMultiReadAreAskedSingly(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]jute.Code{"says so": jute.Unimplemented, "can't read it": jute.MarshallingError} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				v := b.connected()
				b.look()
				require.Equal(b, append([]jute.Op{jute.OpMultiRead}, singles...), v.ops())
				b.look()
				if code == jute.Unimplemented {
					require.Equal(b, singles, v.ops()[len(singles)+1:], "it is not asked again")
				}
			}, func(f *fake, _ *zkconn.Config) { f.answer = few.except(jute.OpMultiRead, refuses(code)) })
		})
	}
	t.Run("takes it for something else", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			b.connected()
			b.look()
		}, func(f *fake, _ *zkconn.Config) { f.answer = few.except(jute.OpMultiRead, refuses(jute.OK)) })
	})
	t.Run("hangs up", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			for range 2 {
				v := b.connected()
				require.NoError(b, b.Sync("/"), "so that it is this request at which it hangs up")
				_, err := b.Look(looks)
				require.ErrorIs(b, err, zkconn.ErrCutOff)
				require.Equal(b, []jute.Op{jute.OpSync, jute.OpMultiRead}, slices.DeleteFunc(v.ops(), func(op jute.Op) bool { return op == jute.OpSetWatches }))
				time.Sleep(time.Minute) // until it is connected again
			}
			b.look()
			require.Equal(b, singles, b.connected().ops())
		}, func(f *fake, _ *zkconn.Config) {
			f.answer = few.except(jute.OpMultiRead, func(v *visit, _ jute.Request) (jute.Reply, bool) {
				v.hangUp()
				return jute.Reply{}, false
			})
		})
	})
}

// A reply that is too large as a whole is asked for in parts; a part that is too large fails alone.
func TestALookThatIsTooLargeFailsInPart(t *testing.T) {
	const most = 16 << 10 // of a reply
	inBubble(t, func(b *bench) {
		b.connected()
		queries := []zkconn.Query{{Path: "/half"}, {Path: "/more"}, {Path: "/whole"}, {Path: "/none"}}
		found, err := b.Look(queries)
		require.NoError(b, err)
		require.Len(b, found[0].Data, most/2)
		require.Len(b, found[1].Data, most/2)
		require.ErrorIs(b, found[2].Err, zkconn.ErrTooLarge)
		require.ErrorIs(b, found[3].Err, zkconn.ErrNoNode)
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.MaxPacket = most / 16
		f.answer = shelf{"/half": most / 2, "/more": most / 2, "/whole": most}.answer
	})
}

// What says nothing of the request is an error of all of it, so that it is repeated.
func TestAnOverloadedServerFailsALookAsAWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op     jute.Op
		before jute.Op // is refused with Unimplemented
		want   error
	}{
		"overloaded":               {op: jute.OpMultiRead, want: zkconn.ErrThrottled},
		"overloaded by single one": {op: jute.OpGetChildren, before: jute.OpMultiRead, want: zkconn.ErrThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.connected()
				_, err := b.Look(looks)
				require.ErrorIs(b, err, c.want)
				b.answers(few.answer)
				b.look()
			}, func(f *fake, _ *zkconn.Config) {
				throttled := few.except(c.op, refuses(jute.ThrottledOp))
				f.answer = func(v *visit, q jute.Request) (jute.Reply, bool) {
					if q.Op == c.before {
						return failure(jute.Unimplemented), true
					}
					return throttled(v, q)
				}
			})
		})
	}
}
