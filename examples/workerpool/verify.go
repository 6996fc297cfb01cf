package main

import (
	"cmp"
	"fmt"
	"slices"
)

// stored is a result as it is in ZooKeeper.
type stored struct {
	result
	Number int   // of the batch, from the znode's name
	Czxid  int64 // the transaction that wrote it: ZooKeeper's own order of events
}

// refusal is a write that was refused, because the writer had lost its claim or term.
type refusal struct {
	Batch int   `json:"batch"` // of a result, or handingOut
	Token int64 `json:"token"` // of the lost claim or term
}

// verify compares the pool's results with a serial run, and returns all differences.
func verify(serial []digest, results []stored, refused []refusal) []string {
	var wrong []string
	wrong = append(wrong, checkFiles(serial, results)...)
	wrong = append(wrong, checkBatches(results)...)
	wrong = append(wrong, checkTokens(results)...)
	wrong = append(wrong, checkRefused(results, refused)...)
	return wrong
}

// checkFiles checks that every file was done once, with the digest of the serial run.
func checkFiles(serial []digest, results []stored) []string {
	var wrong []string
	done := make(map[string]digest, len(serial))
	for _, r := range results {
		for _, d := range r.Files {
			if _, twice := done[d.Path]; twice {
				wrong = append(wrong, fmt.Sprintf("file %q: done more than once, again in batch %d", d.Path, r.Number))
			}
			done[d.Path] = d
		}
	}
	for _, want := range serial {
		got, found := done[want.Path]
		switch {
		case !found:
			wrong = append(wrong, fmt.Sprintf("file %q: missing", want.Path))
		case got != want:
			wrong = append(wrong, fmt.Sprintf("file %q: %s of %d bytes, but the serial run has %s of %d bytes", want.Path, got.Sum, got.Size, want.Sum, want.Size))
		}
		delete(done, want.Path)
	}
	for path := range done {
		wrong = append(wrong, fmt.Sprintf("file %q: not in the serial run", path))
	}
	return wrong
}

// checkBatches checks that each batch was done once, and that the numbers have no gap.
func checkBatches(results []stored) []string {
	var wrong []string
	next := 0
	for _, r := range sorted(results, func(r stored) int { return r.Number }) {
		if r.Number != r.Batch {
			wrong = append(wrong, fmt.Sprintf("batch %d: its result is of batch %d", r.Number, r.Batch))
		}
		if r.Number != next {
			wrong = append(wrong, fmt.Sprintf("batch %d: found where batch %d was expected", r.Number, next))
		}
		next = r.Number + 1
	}
	return wrong
}

// checkTokens looks for writes of stale holders. A token is the zxid of a claim. So it is smaller
// than the zxid of the result, and belongs to one worker. In the order in which batches were
// created, the tokens of the coordinators' terms never decrease.
func checkTokens(results []stored) []string {
	var wrong []string
	holders := make(map[int64]string)
	for _, r := range sorted(results, func(r stored) int64 { return r.Czxid }) {
		if r.Token >= r.Czxid {
			wrong = append(wrong, fmt.Sprintf("batch %d: written by %s in transaction %d, before it was claimed with token %d", r.Number, r.Worker, r.Czxid, r.Token))
		}
		if holder, known := holders[r.Token]; known && holder != r.Worker {
			wrong = append(wrong, fmt.Sprintf("batch %d: token %d of %s was held by %s too", r.Number, r.Token, r.Worker, holder))
		}
		holders[r.Token] = r.Worker
	}
	var term int64
	for _, r := range sorted(results, func(r stored) int { return r.Number }) {
		if r.Term < term {
			wrong = append(wrong, fmt.Sprintf("batch %d: created by a deposed coordinator: term %d after term %d", r.Number, r.Term, term))
		}
		term = max(term, r.Term)
	}
	return wrong
}

// checkRefused checks that no refused write is in ZooKeeper, and that a refused writer had claimed
// the batch before the worker that wrote its result.
func checkRefused(results []stored, refused []refusal) []string {
	var wrong []string
	for _, r := range results {
		for _, f := range refused {
			switch {
			case f.Batch != r.Number:
			case f.Token == r.Token:
				wrong = append(wrong, fmt.Sprintf("batch %d: written with token %d, although %s was told that it had lost the claim", r.Number, r.Token, r.Worker))
			case f.Token > r.Token:
				wrong = append(wrong, fmt.Sprintf("batch %d: written by a stale holder: %s with token %d, after token %d had claimed it", r.Number, r.Worker, r.Token, f.Token))
			}
		}
	}
	return wrong
}

func sorted[K cmp.Ordered](results []stored, by func(stored) K) []stored {
	return slices.SortedFunc(slices.Values(results), func(a, b stored) int { return cmp.Compare(by(a), by(b)) })
}
