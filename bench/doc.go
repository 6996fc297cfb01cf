// Package bench measures Troupe beside the bare requests, on a real server that the benchmarks
// start themselves: `make bench`.
//
// A benchmark that compares runs its forms in turn, one cycle of each an iteration, so that the
// noise of the machine falls on all of them alike. For locks and elections they are:
//
//   - troupe: the recipe, through its public face;
//   - same: the requests that Troupe makes, issued bare on the same client library, in the same
//     trips;
//   - least: the fewest requests that any unsafe recipe makes: create, list, delete; for a
//     hand-over, one watch read more.
//
// The figures that matter are ratios: same/troupe and least/troupe, above 1 where Troupe is faster.
// Requests and watch events a cycle are counted by the server, which no noise disturbs.
package bench
