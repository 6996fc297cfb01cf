// Command house holds the source to its budgets: the lines of each part of the product, and of a
// user's program; what a minimal one links; the types on the way of a lock; the methods of a type,
// imports that run upwards, and names that are not to come back. It fails above one of them. A
// budget is lowered when its part becomes smaller, and raised only by a decision record
// (docs/decisions). Lines of tests and comments are printed beside.
//
//	make house
//
// It also prints the way of an operation, which test/way runs: the functions from each request,
// reply and event to the next.
//
//	make way OP=lock
//
// Which file has what:
//
//   - budget.go: the budgets; main.go: reading of the source
//   - lines.go, linked.go, types.go, names.go, face.go: what is counted
//   - minimal: the program whose packages and bytes are counted
//   - way.go: the way of an operation
package main
