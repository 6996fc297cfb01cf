// Package check finds violations in the histories of a chaos run.
//
// # What a possession is
//
// A process that is stopped cannot notice anything. So a possession counts only while its holder
// acts: it reads the clock, finds the possession valid, and reads the clock again. At some instant
// between the two readings it was the holder, by its own account. The instants of one possession
// lie in [first.From, first.At] and [last.From, last.At], and in between it never lost it.
//
// Two possessions of the same thing overlap if each had acted, at the latest, before the other one
// acted for the last time, at the earliest. That is certain for all possible instants:
//
//	A  ├from─at┤ · · · · · · · ├from─at┤
//	B             ├from─at┤ · · · · · · · · · ├from─at┤      overlap: A's last From is after B's first At, and B's last From after A's first At
//
// That includes an earlier token that acts after a later token has acted. A reported overlap is
// therefore real, and never an effect of clocks or of a stop between two lines of a program. An
// overlap that is shorter than the distance between two acts is not seen.
package check
