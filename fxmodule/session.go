package fxmodule

import (
	"cmp"
	"errors"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/session"
)

// NamedSession provides a further *session.Session, under a name. It needs [Module] and a [Config]
// of that name in the graph; opts are what [Options] is for the module's session. The session is
// connected and closed like the module's, and its metrics have the attribute troupe.session.name.
// [On] makes instances use it.
//
//	fx.Supply(fx.Annotate(europe, fx.ResultTags(`name:"eu"`))), // a Config
//	fxmodule.NamedSession("eu"),
//	fxmodule.On("eu", fxmodule.Election("rates", "/rates"), fxmodule.RunLeader("rates", lead)),
func NamedSession(name string, opts ...session.Option) fx.Option {
	title, err := titled("NamedSession", name)
	if err = cmp.Or(err, noNil(title, opts)); err != nil {
		return fx.Error(err)
	}
	return fx.Module(title, opened(name, title, title), needed(name),
		fx.Provide(fx.Annotated{Name: name, Target: func() *extraOptions { return &extraOptions{opts} }}))
}

// On makes the instances and functions of this package in opts use the [NamedSession] of that name,
// and everything else in opts that depends on a *session.Session. The names of instances are unique
// in the application, over all sessions.
func On(name string, opts ...fx.Option) fx.Option {
	title, err := titled("On", name)
	if err = cmp.Or(err, noNil(title, opts)); err != nil {
		return fx.Error(err)
	}
	check := func(s *session.Session) error {
		if s == nil {
			return errors.New(title + ": the graph has no fxmodule.NamedSession of that name, or it lacks its fxmodule.Config")
		}
		return nil
	}
	use := fx.Decorate(fx.Annotate(func(s *session.Session) *session.Session { return s }, fx.ParamTags(tag(name))))
	return fx.Options( // modules are invoked in their order: if the session fails, none of opts uses the module's instead
		fx.Module(title, fx.Invoke(fx.Annotate(check, fx.ParamTags(tag(name)+` optional:"true"`))), needed(name)),
		fx.Module(title, append([]fx.Option{use}, opts...)...))
}

// needed makes the graph build the session of a name.
func needed(name string) fx.Option {
	return fx.Invoke(fx.Annotate(func(*session.Session) {}, fx.ParamTags(tag(name))))
}
