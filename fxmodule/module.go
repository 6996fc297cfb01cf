package fxmodule

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/fxmodule/internal/development"
	"github.com/troupe-go/troupe/internal/logs"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
)

// Module provides a *session.Session and its *actors.System, by a [Config] in the graph, and
// connects and closes them with the application. Every named instance of this package uses that
// session, except in [On]. Module calls [Config.Validate] first; with an error the application does
// not start.
//
// The graph's metric.MeterProvider and trace.TracerProvider are told of the session and of all that
// is on it by package telemetry, in which named instances have their names.
var Module = fx.Module("troupe", fx.Provide(newSystem, newBudget, func() wirings { return wirings{} }, func() *names { return &names{all: make(map[place]string)} }), opened("", "fxmodule.Module", "fxmodule.Options"), needed(""))

// newSystem makes the application's system, which is closed after all actors in it.
func newSystem(lc fx.Lifecycle, b *budget, in struct {
	fx.In
	Log *slog.Logger `optional:"true"`
},
) (*actors.System, error) {
	system, err := actors.New(actors.WithLogger(logger(in.Log)))
	lc.Append(fx.Hook{OnStop: func(ctx context.Context) error {
		ctx, cancel := b.until(ctx, systemDone)
		defer cancel()
		return system.Close(ctx)
	}})
	return system, err
}

// namedInputs are the inputs of a session that have its name in the graph. The tags of an fx.In
// struct are constants, so opened makes a constructor for each name that gathers them.
type namedInputs struct {
	config Config
	extra  *extraOptions      // of Options or NamedSession; nil: none
	dialer development.Dialer // of package fxtest, to a server of zktest; nil: none
}

type inputs struct {
	fx.In

	Named      namedInputs
	System     *actors.System
	Budget     *budget
	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Log        *slog.Logger         `optional:"true"`
	Meters     metric.MeterProvider `optional:"true"`
	Tracers    trace.TracerProvider `optional:"true"`
	Names      *names
}

// opened provides a session, which is connected and closed with the application: the module's, with
// the name "", or a further one. Errors begin with title, and those of extra options with
// extraTitle, the option that has them.
func opened(name, title, extraTitle string) fx.Option {
	open := func(in inputs) (*session.Session, error) {
		if err := in.Named.config.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		cfg, log := in.Named.config.withDefaults(), logger(in.Log)
		servers, opts, err := cfg.serversAndOptions(in.Lifecycle, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", title, err)
		}
		// Of options that set the same, the last one counts.
		opts = append(opts, session.WithLogger(log))
		if extra := in.Named.extra; extra != nil {
			opts = append(opts, extra.options...)
		}
		if dial := in.Named.dialer; dial != nil {
			opts = append(opts, session.WithDialer(dial))
		}
		opts = append(opts, session.WithSystem(in.System), recipe.WithDeferredStart(), in.telemetry(name))
		s, err := session.New(servers, opts...)
		if err != nil { // Validate has accepted the Config
			return nil, fmt.Errorf("%s: %w", extraTitle, err)
		}
		l := &life{title: title, session: s, servers: servers, lazy: cfg.Startup == StartupLazy, shutdowner: in.Shutdowner, log: log, budget: in.Budget}
		in.Lifecycle.Append(fx.Hook{OnStart: l.start, OnStop: l.stop})
		return s, nil
	}
	gather := func(c Config, o *extraOptions, d development.Dialer) namedInputs { return namedInputs{c, o, d} }
	optional := tag(name) + ` optional:"true"`
	return fx.Module(title, // in which the constructor of namedInputs is private: each session has its own
		fx.Provide(fx.Annotate(gather, fx.ParamTags(tag(name), optional, optional)), fx.Private),
		fx.Provide(fx.Annotated{Name: name, Target: open}))
}

// telemetry reports the session of that name to the providers of the graph.
func (in *inputs) telemetry(name string) session.Option {
	set := []telemetry.Setting{telemetry.WithNames(in.Names.of)}
	if name != "" { // a further session
		set = append(set, telemetry.WithSessionName(name))
	}
	return telemetry.Option(in.Meters, in.Tracers, set...)
}

// Options adds options to those with which [Module] makes its session by the [Config]:
// session.WithSessionFile, session.WithDialer, and others that a Config has no field for. They take
// precedence over its fields; telemetry.Option is not for here, since [Module] has it with the
// providers of the graph, and all would be counted twice. An application has at most one Options.
// The session's system and its start are the application's: session.WithSystem and
// recipe.WithDeferredStart change nothing.
func Options(opts ...session.Option) fx.Option {
	if err := noNil("fxmodule.Options", opts); err != nil {
		return fx.Error(err)
	}
	return fx.Provide(func() *extraOptions { return &extraOptions{opts} })
}

// extraOptions are the options of a session that are not in its Config.
type extraOptions struct{ options []session.Option }

// logger is the application's, or, without one, [slog.Default] from warnings up.
func logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return logs.New(nil)
	}
	return log
}

// SessionOptions returns the options of a session by this configuration, for a program without fx;
// it passes them to session.New, with Config.Servers. Startup and the fields of the embedded server
// are ignored. A TLS file that can't be read now is an error; one that can't be read later is
// logged. Call [Config.Validate] first, which finds the other mistakes.
func (c Config) SessionOptions(log *slog.Logger) ([]session.Option, error) {
	c = c.withDefaults()
	opts := []session.Option{session.WithTimeout(time.Duration(c.Timeout)), session.WithMaxPacket(c.MaxPacket)}
	if c.Namespace != "" {
		opts = append(opts, session.WithNamespace(c.Namespace))
	}
	if c.Tick > 0 {
		opts = append(opts, session.WithTick(time.Duration(c.Tick)))
	}
	if c.Strict {
		opts = append(opts, session.WithStrict())
	}
	if c.AuthScheme != "" {
		opts = append(opts, session.WithAuth(c.AuthScheme, []byte(c.AuthSecret)))
	}
	if c.Private {
		opts = append(opts, session.WithACL(session.AuthACL(session.PermAll)...))
	}
	if c.TLS.Enabled {
		cfg, err := c.TLS.Client(logger(log))
		if err != nil { // a file has changed since Validate
			return nil, fmt.Errorf("fxmodule: Config.TLS: %w", err)
		}
		opts = append(opts, session.WithTLS(cfg))
	}
	return opts, nil
}

// serversAndOptions are those of a session by this configuration; with Embedded, the only server is
// in this process.
func (c Config) serversAndOptions(lc fx.Lifecycle, log *slog.Logger) ([]string, []session.Option, error) {
	opts, err := c.SessionOptions(log)
	if err != nil || !c.Embedded {
		return c.Servers, opts, err
	}
	servers, dial, err := embedded(c, lc, log)
	return servers, append(opts, session.WithDialer(dial)), err
}

// life ties the session to the application's lifecycle.
type life struct {
	title      string // of its errors
	session    *session.Session
	servers    []string // for an error
	lazy       bool     // StartupLazy
	shutdowner fx.Shutdowner
	log        *slog.Logger
	budget     *budget

	stopping chan struct{} // closed by stop; nil if start failed
	watched  chan struct{} // closed when watch has returned
}

func (l *life) start(ctx context.Context) error {
	if l.lazy {
		recipe.Start(l.session)
	} else if err := l.connect(ctx); err != nil {
		_ = l.session.Close(ctx) // fx does not call OnStop of a hook whose OnStart failed; if ctx has ended, there is nothing to wait for
		return fmt.Errorf("%s: no session with ZooKeeper at %s: %w", l.title, strings.Join(l.servers, ", "), err)
	}
	l.stopping, l.watched = make(chan struct{}), make(chan struct{})
	go l.watch() // owned by the life; ends with the session or with stop
	return nil
}

// connect gives up a little before ctx ends. Otherwise fx would report only the end of its start
// timeout, and not the error of the hook.
func (l *life) connect(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/20*19)
		defer cancel()
	}
	return l.session.Connect(ctx)
}

// watch shuts the application down if the session ends for good, and logs a stop that has to wait.
func (l *life) watch() {
	defer close(l.watched)
	select {
	case <-l.stopping:
	case <-l.budget.stopping.Done():
		if is := l.session.Status(); is.State != session.Connected && is.SessionID != 0 {
			wait := time.Duration(sessionDone * float64(l.budget.whole))
			l.log.Warn("the application stops, and waits for a connection to ZooKeeper", "up_to", wait, "cause", is.Cause)
		}
	case <-l.session.Done():
		select {
		case <-l.stopping:
			return
		default:
		}
		shutDown(l.shutdowner, l.log, l.title+": the ZooKeeper session has ended for good", l.session.Err())
	}
}

func (l *life) stop(ctx context.Context) error {
	if l.stopping != nil {
		close(l.stopping)
		<-l.watched
	}
	ctx, cancel := l.budget.until(ctx, sessionDone)
	defer cancel()
	return unlessClosed(l.session.Close(ctx))
}

// shutDown ends the application with exit code 1.
func shutDown(s fx.Shutdowner, log *slog.Logger, why string, err error) {
	log.Error("the application is shut down", "why", why, "error", err)
	if err := s.Shutdown(fx.ExitCode(1)); err != nil {
		log.Error("cannot shut the application down", "error", err)
	}
}

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
