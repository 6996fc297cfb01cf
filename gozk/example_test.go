package gozk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/gozk"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func Example() {
	ctx := context.Background()
	sess, err := session.Open(ctx, []string{"zk1:2181", "zk2:2181"})
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close(ctx)
	conn, events := gozk.On(sess) // for zk.Connect
	go func() {
		for e := range events {
			log.Print(e.State)
		}
	}()
	_, err = conn.Create("/config", []byte("on"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	switch err {
	case nil, zk.ErrNodeExists:
	case session.ErrUnknownOutcome: // the answer was lost: look
		exists, _, err := conn.Exists("/config")
		fmt.Println(exists, err)
	default:
		log.Fatal(err)
	}
}

// register puts a worker into the directory of the program.
func register(conn gozk.Conn, name string) error {
	for _, path := range []string{"/billing", "/billing/workers"} {
		_, err := conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if err != nil && err != zk.ErrNodeExists {
			return err
		}
	}
	_, err := conn.Create("/billing/workers/"+name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

// workers tells the names of all workers, now and after each change, until the view is closed.
func workers(conn gozk.Conn, told func([]string)) error {
	for {
		names, _, changed, err := conn.ChildrenW("/billing/workers")
		if err != nil {
			return err
		}
		slices.Sort(names)
		told(names)
		if e := <-changed; e.Type == zk.EventNotWatching && e.Err == zk.ErrClosing {
			return nil
		}
	}
}

// settle does what one worker at a time may do. It was zk.NewLock(conn, "/billing/lock", acl) with
// Lock and Unlock; programs that still have that queue on the same path.
func settle(ctx context.Context, sess *session.Session, work func(ctx context.Context) error) error {
	l, err := lock.New(sess, "/billing/lock", lock.WithLayout(lock.GoZooKeeper))
	if err != nil {
		return err
	}
	defer l.Close(ctx)
	grant, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	return errors.Join(work(grant.Context()), grant.Release(ctx)) // its ctx ends with the possession
}

// TestAProgramThatMoves: half of it on go-zookeeper, half of it on a session.
func TestAProgramThatMoves(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	old, _, err := zk.Connect(srv.Servers(), 10*time.Second, zk.WithLogInfo(false))
	require.NoError(t, err)
	defer old.Close()
	sess := bubble.Open(t, srv.Servers())
	conn, _ := gozk.On(sess)
	require.NoError(t, register(old, "a"))
	seen, ended := make(chan []string, 10), make(chan error, 1)
	go func() { ended <- workers(conn, func(names []string) { seen <- names }) }()
	require.Equal(t, []string{"a"}, bubble.Get(t, seen))
	require.NoError(t, register(conn, "b"))
	require.Equal(t, []string{"a", "b"}, bubble.Get(t, seen))
	require.NoError(t, settle(t.Context(), sess, func(context.Context) error {
		theirs, _, err := old.Children("/billing/lock")
		require.Len(t, theirs, 1)
		return err
	}))
	conn.Close()
	require.NoError(t, bubble.Get(t, ended))
}
