package work

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Root is the znode below which everything is done.
const Root = "/chaos"

// panicAnActor is set in a build with -tags chaos. Without it, that fault does nothing.
var panicAnActor = func() {}

// Permits are those of the semaphores, by thing.
func Permits() map[string]int64 { return map[string]int64{"semaphore/line": permits} }

const permits = 3

// Lines are the parents of the contenders of these workloads, that an outsider may strike.
func Lines(works []string) []string {
	var lines []string
	for _, w := range works {
		switch w {
		case "lock", "election", "shared", "semaphore", "crowd", "sessions", "transfer", "commit":
			lines = append(lines, "/"+w+"/line")
		}
	}
	if len(lines) == 0 {
		lines = []string{"/lock/line"}
	}
	return lines
}

// Bare are those of the lines that an outsider may delete as a whole: nothing is kept in their
// parents.
func Bare(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasPrefix(line, "/semaphore/") || strings.HasPrefix(line, "/shared/")
	})
}

// Contended are the absolute paths of the lines of these workloads.
func Contended(works []string) []string {
	var paths []string
	for _, w := range works {
		paths = append(paths, Root+"/"+w+"/line")
		if w == "beside" {
			for n := range beside {
				paths = append(paths, fmt.Sprintf("%s/beside/%d", Root, n))
			}
		}
	}
	return paths
}

// markPath is where commits leave what they create, noisePath where nobody has anything but
// watches.
const (
	markPath  = "/commit/marks"
	noisePath = "/transfer/noise"
)

// stay are the znodes that workloads leave by their nature: values, limits, what a queue is.
var stay = []string{"/zookeeper", registerPath, configPath, "/semaphore/line", "/lock/line"}

// empty are the places in which nothing is left of transactions, and of the round that is open.
var empty = regexp.MustCompile(`^/twopc/all(/tx|/inbox(/site\d+)?)?$|^/double/rounds(/round-\d+(/in|/out)?)?$`)

// Stays tells whether a znode is one of those, or the container of a workload.
func Stays(path string) bool {
	if strings.Count(path, "/") == 1 {
		return true
	}
	if strings.HasPrefix(path, markPath) || strings.HasPrefix(path, noisePath) {
		return true
	}
	if strings.HasPrefix(path, "/queue") { // its buckets, its capacity; items are counted apart
		return true
	}
	return slices.Contains(stay, path) || empty.MatchString(path)
}
