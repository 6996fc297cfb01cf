package main

import (
	"cmp"
	"fmt"
	"slices"
)

// stored is a result as ZooKeeper has it.
type stored struct {
	result
	Number int   // of the batch, from the znode's name
	Czxid  int64 // the transaction that wrote it: ZooKeeper's own order of events
}

// refusal is an attempt to write that came too late: the writer had lost his lane, or his term, and was told so.
type refusal struct {
	Batch int   `json:"batch"` // of a result, or handingOut
	Token int64 `json:"token"` // of what he had lost
}

// verify compares what the pool wrote with a serial run, and returns everything that is wrong.
func verify(serial []digest, results []stored, refused []refusal) []string {
	var wrong []string
	wrong = append(wrong, checkFiles(serial, results)...)
	wrong = append(wrong, checkBatches(results)...)
	wrong = append(wrong, checkTokens(results)...)
	wrong = append(wrong, checkRefused(results, refused)...)
	return wrong
}

// checkFiles: every file once, with the digest of the serial run.
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

// checkBatches: numbered without a gap, each once.
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

// checkTokens looks for a stale holder in what ZooKeeper has. Tokens grow from holder to holder. So in the order in which a lane's results were
// written they never fall; and in the order in which batches were handed out, neither do the tokens of the coordinators' terms.
func checkTokens(results []stored) []string {
	var wrong []string
	var newest [lanes]stored
	for _, r := range sorted(results, func(r stored) int64 { return r.Czxid }) {
		lane := laneOf(r.Number)
		last := newest[lane]
		switch {
		case r.Token < last.Token:
			wrong = append(wrong, fmt.Sprintf("batch %d: written by a stale holder: %s with token %d after %s with %d", r.Number, r.Worker, r.Token, last.Worker, last.Token))
		case r.Token == last.Token && r.Worker != last.Worker:
			wrong = append(wrong, fmt.Sprintf("batch %d: token %d of %s was held by %s too", r.Number, r.Token, r.Worker, last.Worker))
		default:
			newest[lane] = r
		}
	}
	var term int64
	for _, r := range sorted(results, func(r stored) int { return r.Number }) {
		if r.Term < term {
			wrong = append(wrong, fmt.Sprintf("batch %d: handed out by a deposed coordinator: term %d after term %d", r.Number, r.Term, term))
		}
		term = max(term, r.Term)
	}
	return wrong
}

// checkRefused: what was refused is not there.
func checkRefused(results []stored, refused []refusal) []string {
	var wrong []string
	for _, r := range results {
		if slices.Contains(refused, refusal{Batch: r.Number, Token: r.Token}) {
			wrong = append(wrong, fmt.Sprintf("batch %d: written with token %d, although %s was told that he had lost it", r.Number, r.Token, r.Worker))
		}
	}
	return wrong
}

func sorted[K cmp.Ordered](results []stored, by func(stored) K) []stored {
	return slices.SortedFunc(slices.Values(results), func(a, b stored) int { return cmp.Compare(by(a), by(b)) })
}
