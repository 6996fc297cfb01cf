package work

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Root is the parent of all znodes of a run.
const Root = "/chaos"

// panicAnActor is set in a build with -tags chaos. Without it, that fault does nothing.
var panicAnActor = func() {}

// Permits are those of the semaphores, by thing.
func Permits() map[string]int64 { return map[string]int64{"semaphore/line": permits} }

const permits = 3

// Parents are the parents of these workloads' contenders. An outsider may delete the contenders.
func Parents(works []string) []string {
	var parents []string
	for _, w := range works {
		switch w {
		case "lock", "election", "shared", "semaphore", "crowd", "sessions", "transfer", "commit":
			parents = append(parents, "/"+w+"/line")
		}
	}
	if len(parents) == 0 {
		parents = []string{"/lock/line"}
	}
	return parents
}

// Bare are those parents that an outsider may delete too: they have no data.
func Bare(parents []string) []string {
	return slices.DeleteFunc(slices.Clone(parents), func(path string) bool {
		return strings.HasPrefix(path, "/semaphore/") || strings.HasPrefix(path, "/shared/")
	})
}

// Contended are the absolute paths of the parents of these workloads' contenders.
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

// markPath is the parent of the znodes that commits create, noisePath that of znodes that are only
// watched.
const (
	markPath  = "/commit/marks"
	noisePath = "/transfer/noise"
)

// stay are the znodes that workloads leave: values, limits, the parts of a queue.
var stay = []string{"/zookeeper", registerPath, configPath, "/semaphore/line", "/lock/line"}

// empty matches the parents of transactions, and the round that is open.
var empty = regexp.MustCompile(`^/twopc/all(/tx|/inbox(/site\d+)?)?$|^/double/rounds(/round-\d+(/in|/out)?)?$`)

// Stays reports whether a znode is one of those, or the container of a workload.
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
