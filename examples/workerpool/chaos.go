package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// kind is a kind of fault: what is done, and to which victim.
type kind struct{ blow, victim string }

const (
	kill   = "kill"   // SIGKILL; the pool starts another
	pause  = "pause"  // SIGSTOP until its session has expired, then SIGCONT
	expire = "expire" // the server ends its session

	aWorker        = "a worker"
	theCoordinator = "the coordinator"
)

func (k kind) String() string { return k.blow + " " + k.victim }

// strike is one planned fault. It is due when a fraction of the work is done, not at a time, so
// that it hits during the work on machines of any speed.
type strike struct {
	kind
	due float64 // 0: at the start, 1: at the end
}

// possible returns the kinds of faults that this operating system and this server allow.
func possible(canPause, canExpire bool) []kind {
	var kinds []kind
	for _, victim := range []string{aWorker, theCoordinator} {
		kinds = append(kinds, kind{kill, victim})
		if canPause {
			kinds = append(kinds, kind{pause, victim})
		}
		if canExpire {
			kinds = append(kinds, kind{expire, victim})
		}
	}
	return kinds
}

// planChaos plans one strike of each kind in random order, spread over the work, and some more
// random ones.
func planChaos(kinds []kind, more int, dice *rand.Rand) []strike {
	if len(kinds) == 0 {
		return nil
	}
	var plan []strike
	for i, k := range dice.Perm(len(kinds)) {
		plan = append(plan, strike{kinds[k], 0.05 + 0.75*float64(i)/float64(len(kinds))})
	}
	for range more {
		plan = append(plan, strike{kinds[dice.IntN(len(kinds))], 0.05 + 0.85*dice.Float64()})
	}
	slices.SortStableFunc(plan, func(a, b strike) int { return cmp.Compare(a.due, b.due) })
	return plan
}

// chaos kills, pauses and expires workers during the work.
type chaos struct {
	pool     *pool
	progress func() float64
	leader   func() string          // the name of the worker that leads, "" if none is known
	works    func(name string) bool // whether a worker is working on a batch now
	expire   func(session int64)    // nil if the server cannot expire sessions on request
	say      func(format string, args ...any)
	kinds    []kind

	done   []kind // strikes that were carried out; read it after run
	pauses sync.WaitGroup
}

// run carries out a plan until ctx ends. It returns after each paused worker has been continued.
// Pauses have their full length, unless abort ends first.
func (c *chaos) run(ctx, abort context.Context, plan []strike) {
	defer c.pauses.Wait()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for len(plan) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if c.progress() >= plan[0].due && c.carryOut(abort, plan[0].kind) {
			plan = plan[1:]
		}
	}
}

// carryOut returns false if there is no victim at the moment, because nobody leads or the leader is
// already down.
func (c *chaos) carryOut(abort context.Context, k kind) bool {
	victim, found := c.choose(k.victim)
	if !found {
		return false
	}
	struck, err := true, error(nil)
	switch k.blow {
	case kill:
		err = c.pool.kill(victim.process)
	case pause:
		struck, err = c.freeze(abort, victim)
	case expire:
		c.expire(victim.session)
	}
	if err != nil {
		c.say("could not %v %s: %v", k, victim.name, err)
	}
	if err != nil || !struck {
		return false
	}
	c.done = append(c.done, k)
	c.say("%v: %s", k, victim.name)
	return true
}

// choose finds a victim. If no other worker is running, the coordinator, which is a worker too, is
// chosen as one.
func (c *chaos) choose(who string) (target, bool) {
	leader := c.leader()
	if leader == "" {
		return target{}, false
	}
	if who == aWorker {
		if other, found := c.pool.choose(func(name string) bool { return name != leader }); found {
			return other, true
		}
	}
	return c.pool.choose(func(name string) bool { return name == leader })
}

// freeze pauses a worker for longer than its session's timeout, if it is working on a batch. When
// it continues and wants to write its result, it has lost its claim. A worker that is not working
// is continued at once, and the strike does not count.
func (c *chaos) freeze(abort context.Context, victim target) (bool, error) {
	if err := c.pool.pause(victim.process); err != nil {
		return false, err
	}
	if !c.works(victim.name) {
		return false, c.pool.resume(victim.process)
	}
	c.pauses.Go(func() { // owned by chaos; ends after the pause, or with abort
		over := time.NewTimer(victim.timeout * 3 / 2)
		defer over.Stop()
		select {
		case <-over.C:
		case <-abort.Done():
		}
		if err := c.pool.resume(victim.process); err != nil {
			c.say("could not continue %s: %v", victim.name, err)
		}
	})
	return true, nil
}

// summary lists the faults that were injected, and those that were not because the work was done
// before they were due.
func (c *chaos) summary() string {
	var did, missed []string
	for _, k := range c.kinds {
		n := 0
		for _, d := range c.done {
			if d == k {
				n++
			}
		}
		if n == 0 {
			missed = append(missed, k.String())
			continue
		}
		did = append(did, fmt.Sprintf("%v ×%d", k, n))
	}
	text := cmp.Or(strings.Join(did, ", "), "none")
	if len(missed) > 0 {
		text += "; the work was done before it could " + strings.Join(missed, ", ")
	}
	return text
}
