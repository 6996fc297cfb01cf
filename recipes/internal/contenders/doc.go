// Package contenders reads a queue of contenders from outside: its contenders, their order, and the
// sessions that own them.
//
// It is for display and observation. A contender decides with its own machine (package contend), on
// what it has seen in its own epoch.
//
//   - Names that are not those of contenders are ignored, so foreign znodes under a recipe's path do
//     no harm.
//   - A queue whose parent does not exist is empty. A contender that leaves between the listing and
//     the read of its znode is left out.
//   - Contenders are ordered by sequence number, and by Czxid where the numbers do not tell the
//     order: equal numbers, and every queue in which a number near the end of the 32 bits occurs.
package contenders
