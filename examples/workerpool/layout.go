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
	lanesPath   = "/lanes"   // a child for each lane: the line of those who want to work in it
)

// lanes is how many locks there are. A batch belongs to the lane of its number, and whoever holds the lane's lock may work on it.
//
// Why not a lock for each batch? It would do as well. But many holders of one lock after another can be checked from the outcome alone: in the order
// in which ZooKeeper wrote a lane's results, their tokens never fall, unless somebody wrote after he had lost the lock.
const lanes = 16

func laneOf(batch int) int { return batch % lanes }

func lanePath(lane int) string    { return fmt.Sprintf("%s/%02d", lanesPath, lane) }
func batchPath(batch int) string  { return openPath + "/" + batchName(batch) }
func resultPath(batch int) string { return resultsPath + "/" + batchName(batch) }

func batchName(batch int) string { return fmt.Sprintf("%06d", batch) }

// batchNumber is the inverse of batchName. False: no name of a batch.
func batchNumber(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && batchName(n) == name
}
