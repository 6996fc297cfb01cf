package znode

import (
	"cmp"
	"strconv"
	"strings"
)

// ZooKeeper prints the number of a sequential znode as "%010d" does an int32: ten digits, or a sign
// and at least nine.
const (
	digits    = 10
	firstLong = -1_000_000_000 // from here downwards the sign comes on top of ten digits
)

// Sequence cuts the number off the end of a sequential znode's name, which is then head + "%010d".
// False if there is none behind a mark, a dash or an underscore, which every layout has there.
//
// A dash in front of ten digits is a sign only if the name without it still ends with a mark:
// "lock-1000000000" and "lock--1000000000" both have the head "lock-".
func Sequence(name string) (head string, seq int32, ok bool) {
	if head, seq, ok = tail(name, digits+1); ok && seq <= firstLong && marked(head) {
		return head, seq, true
	}
	if head, seq, ok = tail(name, digits); ok && marked(head) {
		return head, seq, true
	}
	return "", 0, false
}

// Numbered tells whether a child's name is this head with a number behind it, with a mark between
// them or without.
func Numbered(head, child string) bool {
	number, behind := strings.CutPrefix(child, head)
	if !behind || len(number) != digits && len(number) != digits+1 {
		return false
	}
	_, n, ok := tail(number, len(number))
	return ok && (len(number) == digits || n <= firstLong)
}

// tail takes the last n bytes for a number: digits alone, or a minus and digits.
func tail(name string, n int) (head string, seq int32, ok bool) {
	if len(name) < n {
		return "", 0, false
	}
	head, number := name[:len(name)-n], name[len(name)-n:]
	if number[0] == '+' || number[0] != '-' && n > digits {
		return "", 0, false
	}
	v, err := strconv.ParseInt(number, 10, 32)
	if err != nil || (v < 0) != (number[0] == '-') {
		return "", 0, false
	}
	return head, int32(v), true
}

func marked(head string) bool { return strings.HasSuffix(head, "-") || strings.HasSuffix(head, "_") }

// CompareSeq orders two sequence numbers that may have wrapped around: by their difference, so that
// 2147483647 comes before -2147483648. It is an order only among numbers less than 2³¹ apart, as
// those of one parent's contenders are.
func CompareSeq(a, b int32) int { return cmp.Compare(a-b, 0) } // overflow is the point

// sticking is where numbers become doubtful: ZooKeeper 3.8 sticks at the end of int32 rather than
// wrapping.
const sticking = 2_147_000_000

// NeedsCzxid tells whether any number is so near the end of int32, or beyond it, that only the
// order of creation tells which came first.
func NeedsCzxid(seqs ...int32) bool {
	for _, s := range seqs {
		if s > sticking || s < 0 {
			return true
		}
	}
	return false
}
