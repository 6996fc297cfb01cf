// Package run is a chaos run from its beginning to its report: servers, proxies, workers, faults,
// checks.
package run
