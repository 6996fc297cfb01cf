package fxmodule

import (
	"context"
	"fmt"
	"log/slog"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule/internal/development"
)

// embedded starts a server in this process, which lives as long as the application.
func embedded(c Config, lc fx.Lifecycle, log *slog.Logger) ([]string, development.Dialer, error) {
	server, err := development.New(log)
	if err != nil {
		return nil, nil, fmt.Errorf("fxmodule: the embedded server: %w", err)
	}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			log.Warn("fxmodule: using the embedded ZooKeeper server: for development only: all data are in memory and are lost at the end")
			if c.EmbeddedListen == "" {
				return nil
			}
			address, err := server.Listen(ctx, c.EmbeddedListen)
			if err != nil {
				return fmt.Errorf("fxmodule: Config.EmbeddedListen: %w", err)
			}
			log.Info("fxmodule: the embedded ZooKeeper server listens", "address", address)
			return nil
		},
		OnStop: func(context.Context) error { return server.Close() },
	})
	return []string{server.Address()}, server.Dial, nil
}
