package gozk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/gozk"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/zktest"
)

// answer is what a call returns: its value, of its Stat what does not depend on the session,
// whether there is a channel, and its error.
type answer struct {
	value any
	stat  zk.Stat
	none  bool // there is no Stat
	watch bool
	err   error
}

func answered(value any, stat *zk.Stat, watch <-chan zk.Event, err error) answer {
	if stat == nil {
		return answer{value, zk.Stat{}, true, watch != nil, err}
	}
	s := zk.Stat{Version: stat.Version, Cversion: stat.Cversion, Aversion: stat.Aversion, DataLength: stat.DataLength, NumChildren: stat.NumChildren}
	if stat.Ctime > 0 {
		s.Ctime = 1
	}
	return answer{value, s, false, watch != nil, err}
}

// results are those of a transaction, without the Stats that go-zookeeper leaves out.
func results(all []zk.MultiResponse, err error) answer {
	all = slices.Clone(all)
	for i := range all {
		all[i].Stat = nil
	}
	return answered(all, nil, nil, err)
}

// TestTheSameAnswers: a *zk.Conn and a view answer the same calls with the same values, also where
// arguments are empty.
func TestTheSameAnswers(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	theirs, _, err := zk.Connect(srv.Servers(), 10*time.Second, zk.WithLogInfo(false))
	require.NoError(t, err)
	defer theirs.Close()
	ours, _ := gozk.On(bubble.Open(t, srv.Servers()))
	defer ours.Close()
	acl := zk.WorldACL(zk.PermAll)
	for _, call := range []struct {
		name string
		do   func(c gozk.Conn, at string) answer // at is a znode of the client's own
	}{
		{"create", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at, nil, 0, acl)
			return answered(p, nil, nil, err)
		}},
		{"create again", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at, nil, 0, acl)
			return answered(p, nil, nil, err)
		}},
		{"get nil data", func(c gozk.Conn, at string) answer { d, s, err := c.Get(at); return answered(len(d), s, nil, err) }},
		{"no children", func(c gozk.Conn, at string) answer { n, s, err := c.Children(at); return answered(len(n), s, nil, err) }},
		{"no children, watched", func(c gozk.Conn, at string) answer {
			n, s, w, err := c.ChildrenW(at)
			return answered(len(n), s, w, err)
		}},
		{"exists", func(c gozk.Conn, at string) answer { e, s, err := c.Exists(at); return answered(e, s, nil, err) }},
		{"exists, watched", func(c gozk.Conn, at string) answer { e, s, w, err := c.ExistsW(at); return answered(e, s, w, err) }},
		{"missing", func(c gozk.Conn, at string) answer { e, s, err := c.Exists(at + "/x"); return answered(e, s, nil, err) }},
		{"missing, watched", func(c gozk.Conn, at string) answer {
			e, s, w, err := c.ExistsW(at + "/x")
			return answered(e, s, w, err)
		}},
		{"get missing", func(c gozk.Conn, at string) answer { _, s, err := c.Get(at + "/x"); return answered(0, s, nil, err) }},
		{"get missing, watched", func(c gozk.Conn, at string) answer { _, s, w, err := c.GetW(at + "/x"); return answered(0, s, w, err) }},
		{"children of what is missing", func(c gozk.Conn, at string) answer {
			_, s, w, err := c.ChildrenW(at + "/x")
			return answered(0, s, w, err)
		}},
		{"set", func(c gozk.Conn, at string) answer { s, err := c.Set(at, []byte{}, 0); return answered(0, s, nil, err) }},
		{"set another version", func(c gozk.Conn, at string) answer { s, err := c.Set(at, nil, 0); return answered(0, s, nil, err) }},
		{"get ACL", func(c gozk.Conn, at string) answer { a, s, err := c.GetACL(at); return answered(a, s, nil, err) }},
		{"set ACL", func(c gozk.Conn, at string) answer {
			s, err := c.SetACL(at, zk.WorldACL(zk.PermAll), -1)
			return answered(0, s, nil, err)
		}},
		{"set no ACL", func(c gozk.Conn, at string) answer { s, err := c.SetACL(at, nil, -1); return answered(0, s, nil, err) }},
		{"create with no ACL", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at+"/y", nil, 0, nil)
			return answered(p, nil, nil, err)
		}},
		{"create without a parent", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at+"/y/z", nil, 0, acl)
			return answered(p, nil, nil, err)
		}},
		{"ephemeral", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at+"/e", nil, zk.FlagEphemeral, acl)
			return answered(p, nil, nil, err)
		}},
		{"below it", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at+"/e/f", nil, 0, acl)
			return answered(p, nil, nil, err)
		}},
		{"sequential", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at+"/s-", nil, zk.FlagSequence, acl)
			return answered(p, nil, nil, err)
		}},
		{"both", func(c gozk.Conn, at string) answer {
			p, err := c.Create(at+"/s-", nil, zk.FlagEphemeralSequential, acl)
			return answered(p, nil, nil, err)
		}},
		{"container", func(c gozk.Conn, at string) answer {
			p, err := c.CreateContainer(at+"/c", nil, zk.FlagContainer, acl)
			return answered(p, nil, nil, err)
		}},
		{"TTL", func(c gozk.Conn, at string) answer {
			p, err := c.CreateTTL(at+"/t", nil, zk.FlagTTL, acl, time.Hour)
			return answered(p, nil, nil, err)
		}},
		{"TTL, sequential", func(c gozk.Conn, at string) answer {
			p, err := c.CreateTTL(at+"/t-", nil, zk.FlagPersistentSequentialWithTTL, acl, time.Hour)
			return answered(p, nil, nil, err)
		}},
		{"children", func(c gozk.Conn, at string) answer {
			n, s, err := c.Children(at)
			slices.Sort(n)
			return answered(n, s, nil, err)
		}},
		{"delete with children", func(c gozk.Conn, at string) answer { return answered(0, nil, nil, c.Delete(at, -1)) }},
		{"delete missing", func(c gozk.Conn, at string) answer { return answered(0, nil, nil, c.Delete(at+"/x", -1)) }},
		{"sync", func(c gozk.Conn, at string) answer { p, err := c.Sync(at); return answered(p, nil, nil, err) }},
		{"no path", func(c gozk.Conn, _ string) answer { _, s, err := c.Get(""); return answered(0, s, nil, err) }},
		{"no path, watched", func(c gozk.Conn, _ string) answer { _, s, w, err := c.GetW(""); return answered(0, s, w, err) }},
		{"a relative path", func(c gozk.Conn, _ string) answer { s, err := c.Set("x", nil, -1); return answered(0, s, nil, err) }},
		{"a path with a slash at its end", func(c gozk.Conn, at string) answer { return answered(0, nil, nil, c.Delete(at+"/", -1)) }},
		{"the root", func(c gozk.Conn, _ string) answer {
			e, s, err := c.Exists("/")
			return answered(e && s != nil, nil, nil, err)
		}},
		{"no operation", func(c gozk.Conn, _ string) answer { all, err := c.Multi(); return answered(len(all), nil, nil, err) }},
		{"a transaction", func(c gozk.Conn, at string) answer {
			return results(c.Multi(&zk.CreateRequest{Path: at + "/m-", Acl: acl, Flags: zk.FlagSequence}, &zk.SetDataRequest{Path: at, Version: -1},
				&zk.CheckVersionRequest{Path: at, Version: 2}, &zk.CreateRequest{Path: at + "/n", Acl: acl}, &zk.DeleteRequest{Path: at + "/n", Version: -1}))
		}},
		{"one that fails", func(c gozk.Conn, at string) answer {
			return results(c.Multi(&zk.SetDataRequest{Path: at, Version: -1}, &zk.CheckVersionRequest{Path: at, Version: 99}))
		}},
		{"one that fails for no ACL", func(c gozk.Conn, at string) answer {
			_, err := c.Multi(&zk.CreateRequest{Path: at + "/n"})
			return answered(0, nil, nil, err)
		}},
	} {
		want, got := call.do(theirs, "/theirs"), call.do(ours, "/ours")
		switch v := want.value.(type) {
		case string:
			want.value = strings.Replace(v, "theirs", "ours", 1)
		case []zk.MultiResponse:
			for i := range v {
				v[i].String = strings.Replace(v[i].String, "theirs", "ours", 1)
			}
		}
		require.Equal(t, want, got, call.name)
		same(t, want.err, got.err)
	}
}
