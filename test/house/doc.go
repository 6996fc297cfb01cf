// Command house holds the source to its budgets: the lines of each part of the product, the methods
// of a type, imports that run upwards, and names that are not to come back. It fails above one of
// them. A budget is lowered with what becomes smaller, and raised only by a decision record
// (docs/decisions). Lines of tests and comments are told beside.
//
//	make house
package main
