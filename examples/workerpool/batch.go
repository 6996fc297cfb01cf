package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// batch is the files that a worker claims at a time.
type batch struct {
	Term  int64 // the token of the coordinator that created it
	Files []string
}

// String returns the batch as it is stored in its znode: readable in any client, exact for any file
// name.
func (b batch) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "term %d\n", b.Term)
	for _, f := range b.Files {
		text.WriteString(strconv.Quote(f))
		text.WriteByte('\n')
	}
	return text.String()
}

func parseBatch(text string) (batch, error) {
	head, body, _ := strings.Cut(text, "\n")
	var b batch
	if _, err := fmt.Sscanf(head, "term %d", &b.Term); err != nil {
		return batch{}, fmt.Errorf("batch: %q: %w", head, err)
	}
	for line := range strings.Lines(body) {
		file, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return batch{}, fmt.Errorf("batch: file name %s: %w", strings.TrimSpace(line), err)
		}
		b.Files = append(b.Files, file)
	}
	return b, exactly(b, text)
}

// cursor is the position in the file list up to which batches were created. Each coordinator
// continues at the cursor of the previous one.
type cursor struct {
	Next  int    // the number of the next batch
	After string // the last file of the previous batch
}

// String returns the cursor as it is stored in its znode.
func (c cursor) String() string { return fmt.Sprintf("next %d after %q", c.Next, c.After) }

func parseCursor(text string) (cursor, error) {
	var c cursor
	if _, err := fmt.Sscanf(text, "next %d after %q", &c.Next, &c.After); err != nil {
		return cursor{}, fmt.Errorf("cursor: %q: %w", text, err)
	}
	return c, exactly(c, text)
}

// exactly returns nil if the text is the value's exact encoding.
func exactly(value fmt.Stringer, text string) error {
	if value.String() != text {
		return fmt.Errorf("not a %T: %q", value, text)
	}
	return nil
}

// remaining returns the files of a sorted list that come after the cursor.
func (c cursor) remaining(files []string) []string {
	if c.Next == 0 {
		return files
	}
	i, found := slices.BinarySearch(files, c.After)
	if found {
		i++
	}
	return files[i:]
}

// A znode holds at most a megabyte. A result contains for each file its name and fewer than
// bytesPerFile bytes more.
const (
	maxBatchBytes = 400_000
	bytesPerFile  = 100
)

// cut takes the next batch from the front of the list: at most size files, and no more than fit
// into a znode with their digests.
func cut(files []string, size int) (head, rest []string) {
	room := maxBatchBytes
	for i, f := range files {
		room -= len(strconv.Quote(f)) + bytesPerFile
		if i == size || i > 0 && room < 0 {
			return files[:i], files[i:]
		}
	}
	return files, nil
}

// batchSize divides a tree into about 500 batches, so that every worker gets many of them and
// faults hit between the first and the last.
func batchSize(files int) int { return min(max(files/500, 1), 2000) }
