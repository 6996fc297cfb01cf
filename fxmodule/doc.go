// Package fxmodule puts Troupe into an application that is built with go.uber.org/fx.
//
//	fx.New(
//		fxmodule.Module,
//		fx.Supply(fxmodule.Default("zk1:2181", "zk2:2181", "zk3:2181")),
//		fxmodule.Election("reports", "/elections/reports"),
//		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error { … }),
//	).Run()
//
// [Module] needs a [Config] in the graph and provides a *session.Session and a *actors.System,
// nothing else. [Lock], [Election], [Queue] and their like provide one named instance each, made on
// that session. [RunLeader] and [Consume] run a function while the application does. What the graph
// has of these is used: *slog.Logger, metric.MeterProvider, trace.TracerProvider. Everything that
// this package does can be done without it, and without fx.
//
// # Start and stop
//
// Nothing connects and no goroutine runs before OnStart, unless the application itself asks
// something of ZooKeeper while it is constructed: a [Site] and a [Cell] wait for it. So a graph
// that can't be constructed leaves nothing behind.
//
//	OnStart   1  the embedded server, if Config.Embedded
//	          2  the session connects, within fx's start timeout; the error names the servers and the cause. StartupLazy does not wait
//	          3  RunLeader and Consume begin
//	OnStop    3  they take nothing new, and wait for the work in hand; a term is resigned, claims go back
//	          2  instances release what they hold, each deletion confirmed, so that a successor takes over within a round trip; the session is closed
//	          1  the embedded server
//
// All of that takes place within fx's stop timeout. What is not done by then ends without
// ZooKeeper's word, and others wait for the session to expire.
//
// A session that ends for good while the application runs (a credential that is refused, an
// internal failure), a function of RunLeader that returns an error or panics, or an election or a
// consumer that is over while they are to run, shuts the application down through fx.Shutdowner,
// with exit code 1.
package fxmodule
