// Package double is the machine of a double barrier: pure decision logic, one instance of it for
// each party.
//
// # The round
//
// A round is a znode, and under it stand its parties. It is opened by one transaction, which checks
// that each of them is there, writes their names into the round, and makes the next one:
//
//	/b/round-0000000007             "open 3"  →  "released 3", a line for each party   or   "broken 3", why
//	/b/round-0000000007/in          its version counts the arrivals
//	/b/round-0000000007/out         its version counts those who are out; one child for each
//	/b/round-0000000007/_c_<guid>-party-<id>  ephemeral: a party, from its arrival to the end of the round
//
// Whoever's arrival was, by that count, at least the last one needed lists the parties and tries to
// decide. No other party ever lists. The transaction checks the count too: of an id whose process
// was started anew, the latest znode has the place, so nobody may have arrived behind the listing.
//
// # The way out
//
// A party that departs says so under out, and stays where it stands. From then on it watches the
// next one in the ring of the names that still stands; one that is gone it says to be out, and goes
// on to the next. Whoever says so for the last one deletes everything, and writes on each party's
// znode before, in the same transaction: so the data of a neighbour change when the round is over,
// and a neighbour that is just gone has died.
//
//	    ┌──────┐ Wanted ┌──────────────────┐ stood ┌─────────┐ count ┌──────────────────┐
//	    │ Idle │ ─────▶ │ Looking Sweeping │ ────▶ │ Waiting │ ────▶ │ Counting Deciding│
//	    └──────┘        │ Founding Standing│       └─────────┘ ◀──── └──────────────────┘
//	        ▲           │ Finding          │         │  │  │ released      │ released
//	        │           └──────────────────┘ withdrawn │  └────────┬───────┘
//	        │ ◀─── Withdrawing ◀───────────────────────┘ │ broken   ▼
//	        │ ◀─── Clearing ◀────────────────────────────┘    ┌──────────────┐
//	        │                                                 │ Ready Inside │
//	        │  the neighbour's data change                    └──────┬───────┘
//	┌───────┴─┐         ┌────────────────────────────┐ departed      │
//	│ Leaving │ ◀────── │ Marking Tallying Following │ ◀─────────────┘
//	└─────────┘         └────────────────────────────┘
//	     │ the neighbour is gone ▲      │ the last one
//	     └───────────────────────┘      ▼
//	                                 Closing ───▶ Idle
package double
