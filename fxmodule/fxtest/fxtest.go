// Package fxtest connects an application of fxmodule to a server of zktest, so that a service is
// tested as it is, under faults, and in virtual time: it connects in memory, in testing/synctest
// too.
package fxtest

import (
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/internal/development"
	"github.com/troupe-go/troupe/zktest"
)

// Server connects the application's session to s instead of the servers of its Config, and ignores
// TLS and Embedded; the other fields of the Config apply. Add it to the service's own options:
//
//	app := fx.New(service(), fxtest.Server(srv))
//
// It does not close s.
func Server(s *zktest.Server) fx.Option { return connected(s, ``) }

// ServerOf is [Server] for the fxmodule.NamedSession of that name.
func ServerOf(session string, s *zktest.Server) fx.Option {
	return connected(s, `name:"`+session+`"`)
}

func connected(s *zktest.Server, tag string) fx.Option {
	redirect := func(c fxmodule.Config) fxmodule.Config {
		c.Servers, c.Embedded, c.EmbeddedListen, c.TLS = s.Hosts(), false, "", fxmodule.TLS{}
		return c
	}
	return fx.Options(
		fx.Supply(fx.Annotate(development.Dialer(s.Dialer()), fx.ResultTags(tag))),
		fx.Decorate(fx.Annotate(redirect, fx.ParamTags(tag), fx.ResultTags(tag))),
	)
}
