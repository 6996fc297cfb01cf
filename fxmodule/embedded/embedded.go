// Package embedded links a ZooKeeper server into the program, for development: with
// fxmodule.Config.Embedded the module starts it instead of connecting to servers. The package has
// no other use. Without the import a program is smaller, and Config.Validate refuses Embedded.
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
