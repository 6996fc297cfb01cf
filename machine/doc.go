// Package machine is what recipes are written in: the events and effects of state machines that
// work on znodes.
//
// A machine is pure decision logic. It has no clock, no network, no goroutine and no lock: an event
// goes in, the state changes, and the effects come out as data. A host (package recipe) runs it as
// a supervised actor on a session, carries the effects out and feeds the answers back as further
// events, one at a time. So every interleaving of the outside world is a sequence of events that a
// test can write down (package recipe/recipetest).
//
//	         ┌──────────── answers, notices, wishes ────────────┐
//	         ▼                                                  │
//	Event → Step → new state                                    │
//	         └──────→ []Effect → host → session → ZooKeeper ────┘
//
// Beside the events and effects of this package, a recipe has its own: what its face wishes (events
// that the face tells the host) and what the application is to get (effects that the recipe
// performs).
//
// What contenders for a thing need stands beside that: claims and the possessions that come of them
// ([Wanted] to [Publish]), and what a contender asks for ([Enter] to [Release]). Such machines are
// run with recipe.Claims.
//
// Two numbers go through all of them. Epoch is the ZooKeeper session that is meant, as [EpochBegan]
// named it. Ask is the machine's own number of a request: the answer carries it, so that the
// machine can tell which one is answered. [Requests] fills both in, and knows which answers are
// awaited.
//
// # What a machine may rely on
//
//   - Every event that stems from ZooKeeper names the epoch that it was asked in. One of an older
//     epoch is void: nothing follows from it.
//   - [List], [Read], [MultiRead], [Transact], [Ensure], [Remove] and [Enter] are answered exactly once, or
//     never if their epoch ends first ([EpochEnded] comes instead).
//   - [Fired] never overtakes the answer of the read that armed the watch. It may come without a
//     change, if the read saw the change already; it is never missing after one. Answers of
//     different requests may overtake one another and other watches' events; two watches' events
//     keep ZooKeeper's order.
//   - A lost connection is [Suspended], and no answer: reads are asked again after it, writes whose
//     answer was lost are answered [Unknown] once a read tells the truth. So whoever gets Unknown
//     looks, and then knows.
//   - What is answered to [Enter] is true: the session resolves a lost answer by looking.
//   - Effects of one step are unordered, but for the listing of [Enter], which runs behind its
//     create in the server's order. Those that need an order wait for the answer before.
//   - A machine is made anew after a crash: it begins as in a new process, and its first events are
//     [EpochBegan], if there is an epoch, and the wishes that stand. No ephemeral znode that its
//     predecessor made is left then, and no [Transact] of its is under way.
//   - The host puts a GUID in front of the name of an ephemeral sequential znode, so that it is found
//     again if the answer to its [Enter] or [Transact] is lost: "_c_<guid>-<name><number>", or what
//     the layout of an Enter has instead. The answer has the whole name, and so has a listing.
//
// # Which file for which task
//
//   - machine.go: what a machine is
//   - event.go, effect.go: the events and effects of all machines
//   - claims.go: those of contenders
//   - requests.go: numbers, keys and epochs of a machine's requests
package machine
