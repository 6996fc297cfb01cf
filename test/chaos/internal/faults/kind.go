package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	KillServer  Kind = "kill-server"  // kill -9 of a server, the leader above all, and its restart
	StopServer  Kind = "stop-server"  // SIGSTOP and SIGCONT of a server, the leader above all
	Isolate     Kind = "isolate"      // a server is cut off from the others, and answers its clients
	Sever       Kind = "sever"        // a follower lacks its leader for a while, and its clients are disconnected meanwhile
	Raze        Kind = "raze"         // an outsider deletes a recipe's path with all contenders
	Herd        Kind = "herd"         // all servers are killed and restarted, and all clients come back at once
	KillWorker  Kind = "kill-worker"  // kill -9 of a worker, and its restart
	StopWorker  Kind = "stop-worker"  // SIGSTOP and SIGCONT of a worker
	PanicWorker Kind = "panic-worker" // an actor in a worker panics
	Expire      Kind = "expire"       // a rival connection ends a worker's session
	Strike      Kind = "strike"       // an outsider deletes a contender's znode
	Blackhole   Kind = "blackhole"    // a worker's messages vanish silently, both ways
	OneWay      Kind = "one-way"      // the same, one way
	Reset       Kind = "reset"        // a worker's connections are reset
	Cut         Kind = "cut"          // the same, and new ones are refused
	Delay       Kind = "delay"        // messages come late
	Lose        Kind = "lose"         // the replies of a moment are lost, with their connections
)

// weights say how often a kind is drawn.
var weights = []struct {
	kind   Kind
	weight int
}{
	{KillServer, 6},
	{StopServer, 10},
	{Isolate, 8},
	{Sever, 8},
	{Herd, 1},
	{KillWorker, 5},
	{StopWorker, 8},
	{PanicWorker, 6},
	{Expire, 5},
	{Strike, 4},
	{Raze, 2},
	{Blackhole, 8},
	{OneWay, 8},
	{Reset, 8},
	{Cut, 4},
	{Delay, 6},
	{Lose, 14},
}

// All are all kinds.
func All() []Kind {
	var all []Kind
	for _, w := range weights {
		all = append(all, w.kind)
	}
	return all
}

// ParseKinds reads a list with commas; "all" stands for all kinds and "none" for none, and "-kind"
// leaves one out.
func ParseKinds(list string) ([]Kind, error) {
	var kinds []Kind
	for name := range strings.SplitSeq(list, ",") {
		without, out := strings.CutPrefix(name, "-")
		switch {
		case name == "all":
			kinds = All()
		case name == "none":
		case !slices.Contains(All(), Kind(without)):
			return nil, fmt.Errorf("faults: no fault is called %q: there are %v", name, All())
		case out:
			kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return k == Kind(without) })
		default:
			kinds = append(kinds, Kind(name))
		}
	}
	return kinds, nil
}

// onServers reports whether a fault hits a server, and no worker.
func (k Kind) onServers() bool {
	return k == KillServer || k == StopServer || k == Isolate || k == Sever || k == Herd
}

// lasts reports whether a fault goes on until it is healed.
func (k Kind) lasts() bool {
	switch k {
	case PanicWorker, Expire, Strike, Raze, Reset, Herd:
		return false
	default:
		return true
	}
}
