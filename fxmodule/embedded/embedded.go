// Package embedded links a ZooKeeper server into the program, for development: with
// fxmodule.Config.Embedded the module starts it in place of connecting to servers. Import it for
// that alone; a program that does not is smaller, and refuses Config.Embedded.
//
//	import _ "github.com/troupe-go/troupe/fxmodule/embedded"
package embedded

import (
	"context"
	"log/slog"

	"github.com/troupe-go/troupe/fxmodule/internal/development"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func init() {
	development.New = func(log *slog.Logger) (development.Server, error) {
		s, err := zkserver.New(zkserver.Config{Logger: log})
		return server{s}, err
	}
}

type server struct{ *zkserver.Server }

func (s server) Address() string { return s.Front(0).Name() }

func (s server) Listen(ctx context.Context, address string) (string, error) {
	return s.Front(0).Listen(ctx, address)
}
