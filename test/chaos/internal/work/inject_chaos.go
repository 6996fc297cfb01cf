//go:build chaos

package work

import "github.com/troupe-go/troupe/actors"

func init() { panicAnActor = actors.Panic }
