package main

import (
	"fmt"
	"strconv"
	"strings"
)

// digest is the result for one file.
type digest struct {
	Path string // slash-separated, below the directory
	Size int64
	Sum  string // SHA-256 in hexadecimal, or unreadable
}

// unreadable is the Sum of a file that cannot be read.
const unreadable = "unreadable"

// result is what a worker writes when a batch is done, in the transaction that deletes the batch.
type result struct {
	Batch  int
	Term   int64  // the token of the coordinator that created the batch
	Worker string // the name of the worker
	Token  int64  // of the worker's claim, which was valid when the result was written
	Files  []digest
}

// String returns the result as it is stored in its znode.
func (r result) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "batch %d term %d worker %q token %d\n", r.Batch, r.Term, r.Worker, r.Token)
	for _, f := range r.Files {
		fmt.Fprintf(&text, "%s %d %q\n", f.Sum, f.Size, f.Path)
	}
	return text.String()
}

func parseResult(text string) (result, error) {
	head, body, _ := strings.Cut(text, "\n")
	var r result
	if _, err := fmt.Sscanf(head, "batch %d term %d worker %q token %d", &r.Batch, &r.Term, &r.Worker, &r.Token); err != nil {
		return result{}, fmt.Errorf("result: %q: %w", head, err)
	}
	for line := range strings.Lines(body) {
		d, err := parseDigest(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return result{}, fmt.Errorf("result: line %q: %w", line, err)
		}
		r.Files = append(r.Files, d)
	}
	return r, exactly(r, text)
}

func parseDigest(line string) (digest, error) {
	sum, rest, _ := strings.Cut(line, " ")
	size, quoted, _ := strings.Cut(rest, " ")
	d := digest{Sum: sum}
	var err error
	if d.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
		return digest{}, err
	}
	d.Path, err = strconv.Unquote(quoted)
	return d, err
}
