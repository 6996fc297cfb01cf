package machine

// Machine is pure decision logic: one event in, the effects that follow out. It may have a method
// Phase() string, which the live tree shows.
type Machine interface{ Step(ev Event) []Effect }

// Event is something that happened to a machine: one of this package, or a wish of the recipe's
// own.
type Event any

// Effect is something that a machine asks for: one of this package, or one of the recipe's own,
// which the recipe performs.
type Effect any
