package main

import (
	"fmt"
	"slices"
)

// told are a server's answers about itself.
type told struct {
	Mode    string   `json:"mode,omitempty"`
	Version string   `json:"version,omitempty"`
	Latency *latency `json:"latency,omitempty"`
}

// latency is the time of requests to a server, in milliseconds.
type latency struct {
	Least float64 `json:"min_ms"`
	Mean  float64 `json:"avg_ms"`
	Most  float64 `json:"max_ms"`
}

// latencyOf parses "0/0.4/12"; nil for other texts, and for NaN and infinity, which JSON lacks.
func latencyOf(text string) *latency {
	var l latency
	if n, _ := fmt.Sscanf(text, "%g/%g/%g", &l.Least, &l.Mean, &l.Most); n < 3 || (l.Least+l.Mean+l.Most)*0 != 0 {
		return nil
	}
	return &l
}

// fault is the known defect of a version of ZooKeeper, or "": see docs/operations.md.
func fault(version string) string {
	v := make([]int, 3)
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < len(v) {
		return ""
	}
	switch before := func(release ...int) bool { return slices.Compare(v, release) < 0 }; {
	case before(3, 9, 2):
		return "confirmed writes may be lost when servers crash (ZOOKEEPER-4643, ZOOKEEPER-4785), and a server may fail to join while there are writes (ZOOKEEPER-4394)"
	case before(3, 9, 3):
		return "a server may fail to join while there are writes (ZOOKEEPER-4394)"
	case before(3, 9, 4):
		return "confirmed writes may be lost when a server leads that had lagged (ZOOKEEPER-4925)"
	}
	return ""
}
