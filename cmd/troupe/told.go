package main

import "fmt"

// told is what a server tells of itself.
type told struct {
	Mode    string   `json:"mode,omitempty"`
	Version string   `json:"version,omitempty"`
	Latency *latency `json:"latency,omitempty"`
}

// latency is how long the requests to a server have taken, in milliseconds.
type latency struct {
	Least float64 `json:"min_ms"`
	Mean  float64 `json:"avg_ms"`
	Most  float64 `json:"max_ms"`
}

// latencyOf reads "0/0.4/12"; nil if that is not told. JSON has no NaN, and no infinity.
func latencyOf(text string) *latency {
	var l latency
	if n, _ := fmt.Sscanf(text, "%g/%g/%g", &l.Least, &l.Mean, &l.Most); n < 3 || (l.Least+l.Mean+l.Most)*0 != 0 {
		return nil
	}
	return &l
}
