package main

import (
	"fmt"
	"strconv"
)

// The znodes of a run, relative to its namespace.
const (
	leaderPath  = "/leader"  // the queue of candidates
	cursorPath  = "/cursor"  // the position up to which batches were created
	openPath    = "/open"    // a child for each batch that is not done; deleted when the last one is done
	resultsPath = "/results" // a child for each batch that is done
	queuePath   = "/batches" // the queue of those batches' numbers: the worker that has claimed a number works on the batch
)

func batchPath(batch int) string  { return openPath + "/" + batchName(batch) }
func resultPath(batch int) string { return resultsPath + "/" + batchName(batch) }

func batchName(batch int) string { return fmt.Sprintf("%06d", batch) }

// batchNumber is the inverse of batchName. It returns false if the name is not that of a batch.
func batchNumber(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && batchName(n) == name
}
