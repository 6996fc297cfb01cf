// Package machine is the vocabulary of Troupe's state machines: what may happen to one ([Event])
// and what it may ask for ([Effect]).
//
// A machine is pure decision logic. It has no clock, no network, no goroutine and no lock: an event
// goes in, the state changes, and the effects come out as data. A host (package internal/host)
// carries the effects out on a session and feeds the answers back as further events, one at a time.
// So every interleaving of the outside world is a sequence of events that a test can write down.
//
//	         ┌──────────── answers, notices, wishes ────────────┐
//	         ▼                                                  │
//	Event → Step → new state                                    │
//	         └──────→ []Effect → host → session → ZooKeeper ────┘
//
// What a machine may rely on:
//
//   - Every event that stems from ZooKeeper names the epoch that it was asked in. One of an older
//     epoch is void: nothing follows from it.
//   - Enter, List, Read and Leave are answered exactly once, or never if their epoch ends first
//     (EpochEnded comes instead).
//   - A Read of an own znode that is overtaken by its Leave may be answered with an error, and says
//     nothing.
//   - Fired never overtakes the answer of the read that armed the watch. Answers of different
//     requests may overtake one another and may overtake, or be overtaken by, the events of other
//     watches; two watches' events keep ZooKeeper's order.
//   - A lost reply is no event: the session resolves it by looking. What is answered is true.
//   - Effects of one step are unordered, but for Enter's listing, which runs behind its create in
//     the server's order.
package machine
