package main

import (
	"fmt"
	"strconv"
)

// Where things are in ZooKeeper, below the namespace of the run.
const (
	leaderPath  = "/leader"  // the line of candidates
	cursorPath  = "/cursor"  // how far the tree has been handed out
	openPath    = "/open"    // a child for each batch that is handed out and not done; deleted when the last one is done
	resultsPath = "/results" // a child for each batch that is done
	queuePath   = "/batches" // the numbers of those batches, in a queue: whoever has one claimed may work on the batch
)

func batchPath(batch int) string  { return openPath + "/" + batchName(batch) }
func resultPath(batch int) string { return resultsPath + "/" + batchName(batch) }

func batchName(batch int) string { return fmt.Sprintf("%06d", batch) }

// batchNumber is the inverse of batchName. False: no name of a batch.
func batchNumber(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && batchName(n) == name
}
