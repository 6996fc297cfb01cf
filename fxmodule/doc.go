// Package fxmodule adds Troupe to an application that is built with go.uber.org/fx.
//
//	app := fx.New( // and then app.Run()
//		fxmodule.Module,
//		fx.Supply(fxmodule.Default("zk1:2181", "zk2:2181", "zk3:2181")),
//		fxmodule.Election("reports", "/elections/reports"),
//		fxmodule.RunLeader("reports", report), // func report(ctx context.Context, term *election.Term) error
//	)
//
// [Module] needs a [Config] in the graph and provides a *session.Session and a *actors.System,
// nothing else. [Lock], [Election], [Queue] and the like each provide one named instance, created
// on that session. [RunLeader], [Consume], [Follow], [FollowTree] and [RunSite] run a function
// while the application runs, and [Join] makes it a member. The module uses a *slog.Logger, a
// metric.MeterProvider and a trace.TracerProvider if the graph has them. Everything that this
// package does can be done without it, and without fx.
//
// # Start and stop
//
// Nothing connects and no goroutine runs before OnStart, unless the application itself makes a
// request to ZooKeeper during construction. A [Site] and a [Cell] start their I/O at OnStart. So a
// graph that can't be constructed leaves nothing behind.
//
//	OnStart   1  the embedded server, if Config.Embedded
//	          2  the session connects, within fx's start timeout; the error names the servers and the cause. StartupLazy does not wait
//	          3  RunLeader, Consume and the like start
//	OnStop    3  they take no new work and wait for the work in hand; the term is resigned, claims are returned
//	          2  instances release what they hold, each deletion confirmed, so that a successor takes over within a round trip; the session is closed
//	          1  the embedded server
//
// All of that happens within fx's stop timeout. All functions are asked to end at once, and have
// four fifths of that time. One that has not returned by then is named in the error, and its
// possessions are released all the same. Releases that are not confirmed in the last fifth are left
// to the expiry of the session: others then have to wait for that.
//
// The module shuts the application down through fx.Shutdowner, with exit code 1, if the session
// ends for good while the application runs (a refused credential, an internal failure), if a
// function of RunLeader returns an error or panics, or if an election, a consumer or another
// instance in such use ends.
//
// # Which file for which task
//
//   - module.go: the session, its start and end, the embedded server; session.go: further sessions
//   - config.go, tls.go: the configuration
//   - named.go: the named instances; function.go: what fx provides for functions
//   - leader.go, consume.go, follow.go: functions that run; worker.go: their start, stop and panics
package fxmodule
