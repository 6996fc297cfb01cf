package main

// What the verification finds wrong.

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// outcome is a small run in which all went well: each batch has a claim of its own.
func outcome() (serial []digest, results []stored) {
	for i, name := range []string{"a", "b", "c", "d"} {
		serial = append(serial, digest{Path: name, Size: int64(i), Sum: "sum-" + name})
	}
	for n := range 17 {
		r := stored{Number: n, Czxid: int64(200 + n), result: result{Batch: n, Term: 10, Worker: "w1.1", Token: int64(100 + n)}}
		if n < len(serial) {
			r.Files = serial[n : n+1 : n+1]
		}
		results = append(results, r)
	}
	return serial, results
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil   func(serial []digest, results []stored) []stored
		refused []refusal
		want    string // in the one complaint; "" for none
	}{
		"all well":     {spoil: func(_ []digest, rs []stored) []stored { return rs }},
		"missing file": {spoil: func(_ []digest, rs []stored) []stored { rs[1].Files = nil; return rs }, want: `file "b": missing`},
		"file twice": {spoil: func(s []digest, rs []stored) []stored {
			rs[3].Files = append(rs[3].Files, s[0])
			return rs
		}, want: `file "a": done more than once`},
		"altered file": {spoil: func(_ []digest, rs []stored) []stored {
			rs[2].Files = []digest{{Path: "c", Size: 2, Sum: "other"}}
			return rs
		}, want: `file "c": other of 2 bytes`},
		"altered size": {spoil: func(_ []digest, rs []stored) []stored {
			rs[2].Files = []digest{{Path: "c", Size: 3, Sum: "sum-c"}}
			return rs
		}, want: `file "c": sum-c of 3 bytes`},
		"unknown file": {spoil: func(_ []digest, rs []stored) []stored {
			rs[5].Files = []digest{{Path: "x"}}
			return rs
		}, want: `file "x": not in the serial run`},
		"missing batch": {spoil: func(_ []digest, rs []stored) []stored {
			return append(rs[:5:5], rs[6:]...)
		}, want: "batch 6: found where batch 5 was expected"},
		"wrong number": {spoil: func(_ []digest, rs []stored) []stored { rs[5].Batch = 6; return rs }, want: "batch 5: its result is of batch 6"},
		"written before it was claimed": {spoil: func(_ []digest, rs []stored) []stored {
			rs[16].Czxid = 100
			return rs
		}, want: "batch 16: written by w1.1 in transaction 100, before it was claimed with token 116"},
		"claim of two": {spoil: func(_ []digest, rs []stored) []stored {
			rs[16].Token, rs[16].Worker = 100, "w2.1"
			return rs
		}, want: "batch 16: token 100 of w2.1 was held by w1.1 too"},
		"stale holder": {
			spoil: func(_ []digest, rs []stored) []stored { return rs }, refused: []refusal{{Batch: 3, Token: 104}},
			want: "batch 3: written by a stale holder: w1.1 with token 103, after token 104 had claimed it",
		},
		"deposed coordinator": {spoil: func(_ []digest, rs []stored) []stored {
			rs[7].Term = 9
			return rs
		}, want: "batch 7: created by a deposed coordinator"},
		"refused, and not there": {spoil: func(_ []digest, rs []stored) []stored { return rs }, refused: []refusal{{Batch: 16, Token: 100}, {Batch: -1, Token: 9}}},
		"refused, and yet there": {
			spoil: func(_ []digest, rs []stored) []stored { return rs }, refused: []refusal{{Batch: 16, Token: 116}},
			want: "batch 16: written with token 116, although w1.1 was told",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serial, results := outcome()
			wrong := verify(serial, tc.spoil(serial, results), tc.refused)
			if tc.want == "" {
				require.Empty(t, wrong)
				return
			}
			require.Len(t, wrong, 1)
			require.Contains(t, wrong[0], tc.want)
		})
	}
}
