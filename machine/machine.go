package machine

// Machine is pure decision logic: one event in, the effects that follow out. It may have a method
// Phase() string, which the live tree shows.
type Machine interface{ Step(ev Event) []Effect }

// Event is an input of a machine: an event of this package, or an intent of the recipe's own.
type Event any

// Effect is an output of a machine: an effect of this package, or one of the recipe's own, which
// the recipe performs.
type Effect any
