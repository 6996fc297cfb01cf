// Package check finds violations in the histories of a chaos run.
//
// # What a possession is
//
// A process that is stopped cannot notice anything. So a possession counts only while its holder
// acts: it reads the clock, finds the possession valid, and reads the clock again. At some instant
// between the two readings it was the holder, by its own account. The instants of one possession
// lie in [first.From, first.At] and [last.From, last.At], and between them it held all the time.
//
// Two possessions A and B of the same thing overlap if
//
//	A.first.At <= B.last.From && B.first.At <= A.last.From
//
// since A's first instant is then not after B's last one, and the other way round, wherever in
// their intervals the four instants lie:
//
//	A  ├from─at┤ · · · · · · · ├from─at┤
//	B             ├from─at┤ · · · · · · · · · ├from─at┤
//
// That includes an earlier token that acts after a later token has acted. A reported overlap is
// therefore real, and never an effect of clocks or of a stop between two lines of a program. An
// overlap that is shorter than the distance between two acts is not seen.
package check
