// Package fxtest has an application of fxmodule use a server of zktest, so that a service is tested
// as it is, under faults, and in virtual time: within testing/synctest everything connects in
// memory.
package fxtest

import (
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/internal/development"
	"github.com/troupe-go/troupe/zktest"
)

// Server has the application's session connect to s, in place of the servers of its Config, whose
// other fields stay as they are, but for TLS and Embedded. It goes with the service's own options:
//
//	app := fx.New(service(), fxtest.Server(srv))
//
// The test closes s.
func Server(s *zktest.Server) fx.Option { return connected(s, ``) }

// ServerOf is Server for the fxmodule.NamedSession of a name.
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
