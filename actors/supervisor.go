package actors

import "github.com/asynkron/protoactor-go/actor"

// supervisor is the strategy of the actor library: what happens after a panic.
type supervisor struct{}

// HandleFailure implements [actor.SupervisorStrategy]. The library calls it on the goroutine of the
// actor that panicked.
func (*supervisor) HandleFailure(_ *actor.ActorSystem, by actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	if f, ok := reason.(failure); ok { // there are no others: whatever an actor does is within cell.Receive
		f.of.fail(f.reason, func() { by.RestartChildren(child) })
	}
}
