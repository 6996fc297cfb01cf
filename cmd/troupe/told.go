package main

import "fmt"

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
