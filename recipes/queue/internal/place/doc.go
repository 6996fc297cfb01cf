// Package place knows the names of buckets, and of what lies beside them: pure. Package layout has
// the names of everything else, and says what they mean.
//
//	ready-0-0000000000         a bucket: priority 0, the first; open while its version is 0, then sealed
//	ready-0.3-0000000000       a bucket of shard 3
//	later-1795286400000-0000000000  delayed items, none of which is due before this instant
package place
