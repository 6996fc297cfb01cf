// Package double decides what one party of a double barrier does, as a pure machine (package
// machine).
//
// # A round
//
// A round is a znode with the znodes of its parties below it. Its data are a verdict. The party
// that finds the parties complete writes the verdict, once, in a transaction that checks that each
// party's znode exists and that also creates the next round:
//
//	<path>/round-0000000007             "open 3", then "released 3" with the names, or "broken 3" with the cause
//	<path>/round-0000000007/in          its version is the number of arrivals
//	<path>/round-0000000007/out         its version is the number of departures; one child for each
//	<path>/round-0000000007/_c_<guid>-party-<n>-<id>  ephemeral: a party, from its arrival to the end of the round
//
// A party whose arrival may be the last one needed, by the number of arrivals, lists the parties
// and tries to decide. The others do not list. The transaction also checks the number of arrivals,
// so that no party has arrived since the listing: if one id has several znodes, the latest counts.
//
// The parties of a released round are its members.
//
// # Leaving
//
// A member that departs records its departure under out. Its own znode stays. Then it watches its
// neighbour, the next member in the ring whose znode exists. If that znode is deleted, it records
// the neighbour's departure and watches the next one. The member that records the last departure
// deletes the round. In the same transaction it writes to the members' znodes before it deletes
// them. So a change of the neighbour's data tells that the round is deleted, and a deletion without
// a change tells that the neighbour has died.
//
// # What holds
//
//   - If several live processes have one id, one of them is a member of a round, and no other one
//     arrives in a later round before the znode of that member is gone.
//   - A round is decided once. It is released only if all its members existed at that instant.
//   - The round of a live member is not deleted before all its members have departed or died.
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
//	    │                                         broken    ┌───────────────┐
//	    │                                                   │ Ready Entered │
//	    │ the neighbour's data change                       └───────────────┘
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
//   - names and data of the znodes: layout.go; events and effects of the application: events.go
package double
