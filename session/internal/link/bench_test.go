package link_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session/internal/link"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// What the link costs on top of the library: one request after another, and many in flight.
func BenchmarkGet(b *testing.B) {
	servers := ensemble.Start(b, 1).Servers()
	up := make(chan struct{}, 1)
	c, err := link.Open(link.Config{Servers: servers, Timeout: 10 * time.Second}, func(ev link.Event) {
		if _, ok := ev.(link.Up); ok {
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
	for name, get := range map[string]func() error{
		"link":  func() error { _, _, err := c.Get("/", false); return err },
		"plain": func() error { _, _, err := plain.Get("/"); return err },
	} {
		b.Run(name+"/serial", func(b *testing.B) {
			for b.Loop() {
				if err := get(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.SetParallelism(50)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := get(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
