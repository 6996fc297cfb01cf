package main

// troupe group: who is a member.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	members "github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
)

func TestGroupLsAndWatch(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		g, err := members.New(t.Session(), "/workers")
		require.NoError(t, err)
		a, err := g.Join(members.Member{ID: "a", Data: []byte("host-a:80\a")})
		require.NoError(t, err)
		synctest.Wait()
		l, err := lock.New(t.Session(), "/lock")
		require.NoError(t, err)
		_, err = l.Lock(bubble.Minute(t))
		require.NoError(t, err)
		golden(t, "group-ls", []string{"group", "ls", "/workers"}, []string{"group", "ls", "/workers", "-o", "json"},
			[]string{"group", "ls", "/no"}, []string{"group", "ls", "/lock"}, []string{"group", "watch", "/"}, []string{"group", "watch", "/zookeeper"})
		time.AfterFunc(time.Second, func() { _, _ = g.Join(members.Member{ID: "b"}) })
		time.AfterFunc(2*time.Second, func() { _ = a.Leave(bubble.Minute(t)) })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		out, code := typed("").run(ctx, t, "group", "watch", "/workers")
		same(t, "group-watch", transcript(out, code, "group", "watch", "/workers"))
	})
}
