package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

const reportPath = "/reports/latest"

// write writes a report every second, for as long as the term lasts.
func write(ctx context.Context, sess *session.Session, term *election.Term, name string) error {
	_, err := sess.Create(ctx, reportPath, nil, session.Parents())
	if err != nil && !errors.Is(err, session.ErrNodeExists) {
		return over(ctx, err)
	}
	if err := term.Ready(ctx); err != nil { // from here on observers see that the leader is at work
		return over(ctx, err)
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		report := fmt.Sprintf("%s, token %d, %s", name, term.Token(), time.Now().Format(time.TimeOnly))
		if _, err := term.Commit(ctx, session.SetOp(reportPath, []byte(report), -1)); err != nil {
			return over(ctx, err)
		}
		select {
		case <-ctx.Done(): // the term is over, or the service stops
			return nil
		case <-every.C:
		}
	}
}

// over returns nil if the term has ended: the error is then only a consequence of that.
func over(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
