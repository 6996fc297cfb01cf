// Package double decides the double barrier: what one party does, as a pure machine (package
// machine).
//
// # A round
//
// A round is a znode with the znodes of its parties below it. Its data are a verdict. The party
// that completes the parties writes it, once, in a transaction that checks that each of them exists
// and that also creates the next round:
//
//	<path>/round-0000000007             "open 3", then "released 3" with the names, or "broken 3" with the cause
//	<path>/round-0000000007/in          its version is the number of arrivals
//	<path>/round-0000000007/out         its version is the number of departures; one child for each
//	<path>/round-0000000007/_c_<guid>-party-<n>-<id>  ephemeral: a party, from its arrival to the end of the round
//
// A party whose arrival may be the last one needed, by that number, lists the parties and tries to
// decide. The others do not list. The transaction also checks the number of arrivals: of the znodes
// of one id the latest counts, so none may have arrived since the listing.
//
// The parties of a released round are its members.
//
// # Leaving
//
// A member that departs records that under out. Its znode stays. Then it watches its neighbour, the
// next name in the ring that exists. If that is gone, it records the neighbour's departure and
// watches the next one. The member that records the last departure deletes the round. In the same
// transaction it writes to the members' znodes before it deletes them. So a neighbour whose data
// change tells that the round is over, and one that is deleted without that has died.
//
// # What holds
//
//   - Of several live processes of one id one is a member of a round, and no other one arrives in a
//     later round before that one's znode is gone.
//   - A round is decided once. It is released only if all its members existed at that instant.
//   - The round of a member that lives is not deleted before all its members have departed or died.
//   - A member that dies is noticed by the nearest member before it in the ring that has departed.
//
// # The states of a party
//
//	┌──────┐ Wanted ┌───────────────────┐ arrived ┌─────────┐ enough ┌───────────────────┐
//	│ Idle │ ─────▶ │ Finding  Cleaning │ ──────▶ │ Waiting │ ─────▶ │ Counting Deciding │
//	└──────┘        │ Creating Arriving │         │         │ ◀───── │                   │
//	    ▲           │ Resolving         │         └─────────┘ fewer  └───────────────────┘
//	    │           └───────────────────┘  withdrawn │   │  │ released      │ released
//	    │ ◀──────────────────────────── Withdrawing ◀┘   │  └──────┬────────┘
//	    │ ◀──────────────────────────── Removing ◀───────┘         ▼
//	    │                                         broken    ┌──────────────┐
//	    │                                                   │ Ready Inside │
//	    │ the neighbour's data change                       └──────────────┘
//	┌─────────┐          ┌──────────────────────────────┐           │ departed
//	│ Leaving │ ◀─────── │ Departing CountingDepartures │ ◀─────────┘
//	└─────────┘          │ Watching                     │
//	    │                └──────────────────────────────┘
//	    │ the neighbour is deleted ▲          │ all have departed
//	    └──────────────────────────┘          ▼
//	                                       Deleting ───▶ Idle
//
// # Which file for which task
//
//   - what happens next, and in which state: machine.go
//   - which round to arrive in, and what is deleted of old ones: rounds.go
//   - arriving, waiting, withdrawing: arrival.go; releasing or breaking the round: verdict.go
//   - being inside, departing, waiting for the other members: member.go
//   - names and data of the znodes: layout.go; what the application and the machine tell each other: events.go
package double
