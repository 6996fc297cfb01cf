package actors

import "github.com/asynkron/protoactor-go/actor"

// supervisor is the actor library's strategy after a panic.
type supervisor struct{}

// HandleFailure implements [actor.SupervisorStrategy]. The library calls it on the goroutine of the
// actor that panicked.
func (*supervisor) HandleFailure(_ *actor.ActorSystem, by actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	if f, ok := reason.(failure); ok { // there are no others: all code of an actor runs within cell.Receive
		f.of.fail(f.reason, func() { by.RestartChildren(child) })
	}
}
