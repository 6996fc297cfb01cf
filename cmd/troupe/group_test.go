package main

// troupe group: who is a member.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-go/troupe/internal/test/bubble"
	members "github.com/troupe-go/troupe/recipes/group"
)

func TestGroupLsAndWatch(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		g := must(members.New(t.Session(), "/workers"))
		a := must(g.Join(members.Member{Name: "a", Data: []byte("host-a:80\a")}))
		synctest.Wait()
		locked(t, t.Session(), "/lock")
		golden(t, "group-ls", each("group ls /workers\ngroup ls /workers -o json\ngroup ls /no\ngroup ls /lock\ngroup watch /\ngroup watch /zookeeper")...)
		time.AfterFunc(time.Second, func() { _, _ = g.Join(members.Member{Name: "b"}) })
		time.AfterFunc(2*time.Second, func() { _ = a.Leave(bubble.Minute(t)) })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		out, code := typed("").run(ctx, t, "group", "watch", "/workers")
		same(t, "group-watch", transcript(out, code, "group", "watch", "/workers"))
	})
}
