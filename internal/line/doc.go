// Package line reads a line of contenders from outside: who stands in it, in which order, on behalf
// of which session.
//
// It is for looking, not for deciding: a contender decides by its own machine (package contend), on
// what it saw in its own epoch.
//
//   - Whatever is not a contender's name is ignored, so that foreign znodes under a recipe's path
//     harm nobody.
//   - A line whose parent does not exist is empty. A contender that leaves between the listing and
//     the reading is left out.
//   - Order is that of the sequence numbers, and that of creation (Czxid) where numbers can't tell:
//     equal ones, and any line that has come near the end of the numbers' 32 bits.
package line
