// Package machine has the events and effects of state machines that work on znodes. Recipes are
// written as such machines. The package is outside the promise of 1.0: a minor version may change
// it.
//
// A machine is pure decision logic. It has no clock, no network, no goroutine and no lock: an event
// goes in, the state changes, and the effects come out as data. A host (package recipe) runs it as
// a supervised actor on a session, carries the effects out and feeds the answers back as further
// events, one at a time. So every interleaving of the outside world is a sequence of events that a
// test can write down (package recipe/recipetest).
//
//	         ┌─────────── answers, notices, intents ────────────┐
//	         ▼                                                  │
//	Event → Step → new state                                    │
//	         └──────→ []Effect → host → session → ZooKeeper ────┘
//
// Beside the events and effects of this package, a recipe has its own: intents, which are events
// that its face tells the host, and results for the application, which are effects that it
// performs.
//
// Contenders for a thing have further ones: claims and their possessions ([Wanted] to [Publish]),
// and the requests of contenders ([Enter] to [Release]). Such machines are run with recipe.Claims.
//
// Two numbers are in all of them. Epoch is the number of a ZooKeeper session, as [EpochBegan] told
// it. Ask is the machine's own number of a request: the answer carries it. [Requests] fills both
// in, and knows which answers are pending.
//
// # What a machine may rely on
//
//   - Every event that comes from ZooKeeper has the epoch of its request. An event of an older epoch
//     is void: nothing follows from it.
//   - [List], [Read], [MultiRead], [Transact], [Ensure], [Remove] and [Enter] are answered exactly
//     once, or never if their epoch ends first ([EpochEnded] comes instead).
//   - [Fired] never overtakes the answer to the read that armed the watch. It may come without a
//     change, if the read saw the change already; after a change it is never missing. Answers to
//     different requests may overtake one another, and events of other watches; the events of two
//     watches keep ZooKeeper's order.
//   - After a lost connection, [Suspended] comes and no answer: reads are asked again, and a write
//     whose answer was lost is answered with [Unknown] as soon as a read would show its outcome. So
//     after Unknown the machine reads.
//   - The answer to [Enter] is definite: the session resolves a lost answer by reading.
//   - Effects of one step are unordered, except the listing of [Enter], which the server carries out
//     after the create. Effects that need an order wait for the answer before them.
//   - After a crash a new machine begins as in a new process. Its first events are [EpochBegan], if
//     there is an epoch, and the intents. No ephemeral znode of the crashed machine is left then,
//     and no [Transact] of it is pending.
//   - The host puts a GUID in front of the name of an ephemeral sequential znode, so that it is
//     found again if the answer to its [Enter] or [Transact] is lost: "_c_<guid>-<name><number>",
//     or the form that the recipe has instead. The answer has the whole name, and so has a listing.
//
// # Which file for which task
//
//   - machine.go: what a machine is
//   - event.go, effect.go: the events and effects of all machines
//   - claims.go: those of contenders
//   - requests.go: numbers, keys and epochs of a machine's requests
package machine
