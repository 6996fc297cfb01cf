package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTogetherTheFirstErrorEndsTheOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context) error { return broken }
	require.ErrorIs(t, together(t.Context(), waits, fails, waits), broken)
}

func TestTogetherTheEndOfTheContextIsNoError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ends := func(ctx context.Context) error { cancel(); return ctx.Err() }
	require.NoError(t, together(ctx, ends))
	require.NoError(t, together(t.Context()))
}

func TestAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		late, done := after(ctx, time.Second)
		defer done()
		began := time.Now()
		cancel()
		<-late.Done()
		require.Equal(t, time.Second, time.Since(began))
	})
}
