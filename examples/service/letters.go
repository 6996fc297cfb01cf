package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
)

// mail sends a letter. It may be called twice with the same text: if a process dies while it sends
// one, another process gets that letter again.
type mail func(ctx context.Context, text string) error

func printed(_ context.Context, text string) error {
	_, err := fmt.Println(text)
	return err
}

// send is called by the workers with each letter. An error returns the letter to the queue, to be
// delivered again after a pause.
func send(ctx context.Context, i *queue.Item, out mail, p Parts) error {
	return out(ctx, p.Settings.Load().Value.greeting()+" "+string(i.Data()))
}

// Settings are the same for all processes, and may change while they run.
type Settings struct {
	Greeting string     `json:"greeting"`
	Level    slog.Level `json:"level"`
}

func (s Settings) greeting() string {
	if s.Greeting == "" {
		return "Dear"
	}
	return s.Greeting
}

// reload is called with the settings as they are, and with each change.
func reload(_ context.Context, now config.Snapshot[Settings], level *slog.LevelVar, log *slog.Logger) error {
	if now.Err != nil {
		return now.Err // the znode is no JSON: that is logged, and the last good value stays
	}
	level.Set(now.Value.Level)
	log.Debug("new settings", "version", now.Version)
	return nil
}

// remind puts a reminder into the queue each minute, while this process leads. With WithHold,
// ZooKeeper refuses it if the term is over, even if this process does not know yet.
func remind(ctx context.Context, term *election.Term, p Parts, log *slog.Logger) error {
	log.Info("this process reminds", "token", term.Token())
	for {
		select {
		case <-ctx.Done(): // the term is over, or the service stops
			return nil
		case <-time.After(time.Minute):
		}
		if _, err := p.Letters.Put(ctx, []byte("all: the office closes at six."), queue.WithHold(term)); err != nil {
			return err // it ends the service, unless the term is over
		}
	}
}
