package znode

import "math"

// CompareSeq orders two sequence numbers that may have wrapped around: by their difference, so that 2147483647 comes before -2147483648.
func CompareSeq(a, b int32) int {
	switch d := a - b; { // overflow is the point
	case d < 0:
		return -1
	case d > 0:
		return 1
	}
	return 0
}

// sticking is where numbers become doubtful: ZooKeeper 3.8 sticks at the end of int32 rather than wrapping.
const sticking = math.MaxInt32 - 483647

// NeedsCzxid tells whether any number is so near the end, or beyond it, that only the order of creation tells who came first.
func NeedsCzxid(seqs ...int32) bool {
	for _, s := range seqs {
		if s > sticking || s < 0 {
			return true
		}
	}
	return false
}
