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

// kind is a kind of strike: what is done, and to whom.
type kind struct{ blow, victim string }

const (
	kill   = "kill"   // SIGKILL; the pool starts another
	pause  = "pause"  // SIGSTOP until its session has expired, then SIGCONT
	expire = "expire" // the server ends its session

	aWorker        = "a worker"
	theCoordinator = "the coordinator"
)

func (k kind) String() string { return k.blow + " " + k.victim }

// strike is one act of chaos. It is due when a part of the work is done, not at a time: so it hits
// while there is work, however fast the machine.
type strike struct {
	kind
	due float64 // 0: at the start, 1: at the end
}

// possible are the kinds of strikes that this system and this server allow.
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

// planChaos spreads one strike of each kind over the work, in any order, and adds some more at
// random.
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

// chaos kills, pauses and expires while the work is going on.
type chaos struct {
	pool     *pool
	progress func() float64
	leader   func() string          // the name of the worker who leads, "" if none is known
	works    func(name string) bool // whether a worker is at work on a batch at this moment
	expire   func(session int64)    // nil if the server cannot be told to
	say      func(format string, args ...any)
	kinds    []kind

	done   []kind // strikes that were carried out; read it after run
	pauses sync.WaitGroup
}

// run carries out a plan until ctx ends. When it returns, whoever was paused goes on again, having
// been paused for as long as he should have been, unless abort ended before.
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

// carryOut is false if there is nobody to strike at this moment: nobody leads, or the one who leads
// is down already.
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

// choose finds a victim. The coordinator is a worker too, and counts as one when no other is up.
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

// freeze pauses a worker for longer than its session lasts, if it is caught in the act: what it
// works on then will be somebody else's when it goes on and wants to write it. If it is not at work
// it goes on at once, and that does not count.
func (c *chaos) freeze(abort context.Context, victim target) (bool, error) {
	if err := c.pool.pause(victim.process); err != nil {
		return false, err
	}
	if !c.works(victim.name) {
		return false, c.pool.resume(victim.process)
	}
	c.pauses.Go(func() { // owned by chaos, ends after the pause or with abort
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

// summary says what happened, and what could not because the work was done before.
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
