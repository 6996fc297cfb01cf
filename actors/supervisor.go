package actors

import "github.com/asynkron/protoactor-go/actor"

// supervisor is the system in its part as the strategy of the actor library: what happens after a panic.
type supervisor System

// HandleFailure implements [actor.SupervisorStrategy].
func (s *supervisor) HandleFailure(_ *actor.ActorSystem, by actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	n, ok := s.byID.Load(child.Id)
	if !ok {
		return // it has ended meanwhile
	}
	n.(*node).cell.fail(reason, func() { by.RestartChildren(child) })
}
