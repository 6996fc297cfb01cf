// Command house measures the source: how much of it there is, how large its types are, which
// folders import each other, how long its comments' lines are, and how many functions, files and
// packages stand on the way of two common operations.
//
//	make house
//
// The ways are counted from coverage profiles of a small program,
// [github.com/troupe-go/troupe/test/house/way]: the functions that run more often with the
// operation than in an opening and a closing alone. The embedded server and the codec are left out.
package main
