// Command house measures the source: how much of it there is, how large its types are, which
// folders import each other, how long its comments' lines are, and how many functions, files and
// packages stand on the way of two common operations.
//
//	make house
//
// The ways are counted from coverage profiles of a small program,
// [github.com/troupe-go/troupe/test/house/way], that repeats the operation: a function is on the
// way if it runs in more than half of the rounds. What belongs to the beginning and the end of the
// program, or of the instances that it makes, does not count, nor do the embedded server and the
// codec. With -list the functions are named:
//
//	go run ./test/house -list
package main
