package main

import (
	"log/slog"
	"os"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// service is the application without its HTTP server: tests call its handler.
func service(cfg fxmodule.Config) fx.Option {
	return fx.Options(
		fxmodule.Module,
		fx.Supply(cfg, mail(printed)),
		fxmodule.Queue("letters", "/letters"),
		fxmodule.Consume("letters", 4, send),
		fxmodule.Cell("settings", "/settings", config.JSON[Settings]()),
		fxmodule.Follow[Settings]("settings", reload),
		fxmodule.Election("reminder", "/reminder"),
		fxmodule.RunLeader("reminder", remind),
		fx.Provide(handler, watched, measured, logger),
		fx.WithLogger(quieter),
	)
}

// Parts are the means of the service's functions. Named instances are asked for as fx has it, by a
// tag.
type Parts struct {
	fx.In

	Session  *session.Session
	Letters  *queue.Queue           `name:"letters"`
	Settings *config.Cell[Settings] `name:"settings"`
	Reminder *election.Election     `name:"reminder"`
}

// logger logs from a level up that the settings change.
func logger() (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), level
}

// quieter is a logger of fx that logs constructors and hooks at Debug, and errors as such.
func quieter(log *slog.Logger) fxevent.Logger {
	l := &fxevent.SlogLogger{Logger: log}
	l.UseLogLevel(slog.LevelDebug)
	return l
}
