package main

// A worker and a coordinator that lose their sessions.

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// employ makes a worker on an embedded server, with a directory of ten files in batches of one.
func employ(t *testing.T) (*worker, *ground, *bytes.Buffer) {
	t.Helper()
	g, err := prepare(t.Context(), "", 10*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.leave(t.Context())) })
	var reports bytes.Buffer
	w := &worker{name: "w1.1", dir: t.TempDir(), size: 1, window: 4, session: g.session, reports: newReporter(&reports)}
	for i := range 10 {
		write(t, w.dir, fmt.Sprintf("file%d", i), fmt.Sprint("content ", i))
	}
	require.NoError(t, w.join())
	return w, g, &reports
}

// expireAndWait ends the worker's ZooKeeper session, and waits until what it held is known to be
// lost.
func expireAndWait(g *ground, lost <-chan struct{}) {
	g.embedded.Expire(g.session.Status().SessionID)
	<-lost
}

func TestWorkerThatLostItsClaimIsRefused(t *testing.T) {
	t.Parallel()
	w, g, reports := employ(t)
	ctx := t.Context()
	_, err := w.session.Create(ctx, batchPath(0), []byte(batch{Term: 1, Files: []string{"file0"}}.String()))
	require.NoError(t, err)
	require.NoError(t, w.offerAgain(ctx))
	require.NoError(t, w.offerAgain(ctx), "what is in the queue is not put twice")
	first, err := w.line.Take(ctx)
	require.NoError(t, err)
	expireAndWait(g, first.Done())

	require.ErrorIs(t, w.do(ctx, first), session.ErrLost)
	require.Contains(t, reports.String(), fmt.Sprintf(`{"refused":{"batch":0,"token":%d}}`, first.Token()))
	_, exists, err := w.session.Exists(ctx, batchPath(0))
	require.NoError(t, err)
	require.True(t, exists, "the batch is still open")
	_, exists, err = w.session.Exists(ctx, resultPath(0))
	require.NoError(t, err)
	require.False(t, exists, "there is no result")

	second, err := w.line.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, second.Attempt())
	require.NoError(t, w.do(ctx, second))
	text, _, err := w.session.Get(ctx, resultPath(0))
	require.NoError(t, err)
	r, err := parseResult(string(text))
	require.NoError(t, err)
	require.Equal(t, second.Token(), r.Token)
	require.Greater(t, second.Token(), first.Token())

	require.NoError(t, w.offer(ctx, []int{0}), "a coordinator who did not know")
	third, err := w.line.Take(ctx)
	require.NoError(t, err)
	require.NoError(t, w.do(ctx, third), "a batch that is done is not done again")
	left, err := w.line.Len(ctx)
	require.NoError(t, err)
	require.Zero(t, left)
}

func TestDeposedCoordinatorHandsOutNothingAndItsSuccessorGoesOn(t *testing.T) {
	t.Parallel()
	w, g, _ := employ(t)
	ctx, stop := context.WithCancel(t.Context())
	files, err := listFiles(w.dir)
	require.NoError(t, err)
	first, err := w.candidate.Lead(ctx)
	require.NoError(t, err)
	rest, at, err := w.extend(ctx, first, files, cursor{}, 3, 0)
	require.NoError(t, err)
	require.Equal(t, cursor{3, "file2"}, at)
	expireAndWait(g, first.Done())

	_, _, err = w.extend(ctx, first, rest, at, 3, 1)
	require.ErrorIs(t, err, session.ErrLost)
	open, _, err := w.session.Children(ctx, openPath)
	require.NoError(t, err)
	require.Len(t, open, 3)

	done := make(chan error, 1)
	go func() { done <- w.run(ctx) }() // the next coordinator, and the only worker; ends with stop
	seen, err := newBoard(w.session)
	require.NoError(t, err)
	require.NoError(t, seen.follow(ctx))
	stop()
	require.NoError(t, <-done)
	results, err := seen.all(t.Context())
	require.NoError(t, err)
	serial, err := hashSerially(t.Context(), w.dir)
	require.NoError(t, err)
	require.Len(t, results, 10)
	require.Empty(t, verify(serial, results, nil))
}
