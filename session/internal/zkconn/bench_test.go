package zkconn_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// What a request costs, beside what it costs when go-zookeeper makes it: one after another, and
// many in flight.
func BenchmarkRequests(b *testing.B) {
	servers := ensemble.Start(b, 1).Servers()
	up := make(chan struct{}, 1)
	c, err := zkconn.Open(zkconn.Config{Servers: servers, Timeout: 10 * time.Second}, func(ev zkconn.Event) {
		if _, ok := ev.(zkconn.Up); ok {
			up <- struct{}{}
		}
	})
	require.NoError(b, err)
	b.Cleanup(c.Abandon)
	<-up
	plain, events, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	require.NoError(b, err)
	b.Cleanup(plain.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	path := "/bench"
	_, err = c.Create(path, []byte("x"), jute.FlagPersistent, 0, world)
	require.NoError(b, err)
	for _, op := range []struct {
		name        string
		conn, plain func() error
	}{
		{
			"get",
			func() error { _, _, err := c.Get(path, false); return err },
			func() error { _, _, err := plain.Get(path); return err },
		},
		{
			"exists",
			func() error { _, _, err := c.Exists(path, false); return err },
			func() error { _, _, err := plain.Exists(path); return err },
		},
		{
			"sync",
			func() error { return c.Sync(path) },
			func() error { _, err := plain.Sync(path); return err },
		},
		{
			"set",
			func() error { _, err := c.Set(path, []byte("y"), -1); return err },
			func() error { _, err := plain.Set(path, []byte("y"), -1); return err },
		},
		{
			"multi",
			func() error {
				_, err := c.Multi([]jute.Request{{Op: jute.OpCheck, Path: path, Version: -1}, {Op: jute.OpSetData, Path: path, Version: -1}})
				return err
			},
			func() error {
				_, err := plain.Multi(&zk.CheckVersionRequest{Path: path, Version: -1}, &zk.SetDataRequest{Path: path, Version: -1})
				return err
			},
		},
	} {
		for by, call := range map[string]func() error{"zkconn": op.conn, "plain": op.plain} {
			b.Run(op.name+"/"+by+"/serial", func(b *testing.B) { serial(b, call) })
			b.Run(op.name+"/"+by+"/parallel", func(b *testing.B) { parallel(b, call) })
		}
	}
}

func serial(b *testing.B, call func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
}

func parallel(b *testing.B, call func() error) {
	b.ReportAllocs()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
