// Package seeded lets what sessions draw at random repeat in a test: see zktest.WithReplay.
package seeded

import (
	"context"
	crypto "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"sync/atomic"
	"time"
)

// Source is what a session, or a connection, draws from: by the seed, by its number and by the
// instant, so that it does not matter in which order goroutines draw. nil draws at random.
type Source struct {
	seed, number       uint64
	guids, conns, turn atomic.Uint64
}

func (s *Source) at(t time.Time) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, s.number<<47^uint64(t.UnixNano()/int64(step))))
}

// Rand draws at this instant.
func (s *Source) Rand() *rand.Rand {
	if s == nil {
		return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return s.at(time.Now())
}

// N is a duration from 0 to below d.
func (s *Source) N(d time.Duration) time.Duration { return time.Duration(s.Rand().Int64N(int64(d))) }

// Read fills b with bytes that do not come again. It does not fail.
func (s *Source) Read(b []byte) (int, error) {
	if s == nil {
		return crypto.Read(b)
	}
	return rand.NewChaCha8([32]byte(fmt.Appendf(nil, "%016x%08x%08x", s.seed, s.number, s.guids.Add(1)))).Read(b)
}

// Turn is by what a goroutine or a timer is late, so that those of one instant do not race: some
// nanoseconds from least on, others each time. 0 of nil.
func (s *Source) Turn(least time.Duration) time.Duration {
	if s == nil {
		return 0
	}
	return least + time.Duration(s.turn.Add(1)%400)
}

// Connection is the next connection of a session.
func (s *Source) Connection() *Source {
	return &Source{seed: s.seed, number: s.number<<3 | s.conns.Add(1)&7}
}

const step = 10 * time.Microsecond

// Arrival is when what is due on a connection arrives: half a millisecond to one and a half later.
// In each step from a whole one on, a connection has an instant of its own, for 1,249 sessions with
// 8 connections each; timers of servers and of tests go off at whole steps.
func (s *Source) Arrival(due time.Time) time.Time {
	late := time.Millisecond/2 + time.Duration(s.at(due).Int64N(int64(time.Millisecond)))
	return due.Truncate(step).Add(late.Truncate(step) + 1 + time.Duration(s.number)%(step-1))
}

// InOrder is Arrival for one direction: what is due later arrives at a later instant.
func (s *Source) InOrder() func(due time.Time) time.Time {
	var last, arrival time.Time
	return func(due time.Time) time.Time {
		if !due.Equal(last) {
			earliest := arrival.Add(step)
			if last, arrival = due, s.Arrival(due); arrival.Before(earliest) {
				arrival = earliest
			}
		}
		return arrival
	}
}

// Sessions are those of one server.
type Sessions struct {
	Seed   uint64
	number atomic.Uint64
}

// Dial is a dialer, as session.WithDialer takes it.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

type key struct{} // of a session's **Source in the context of a call

// Dialer is dial with the source of a session that has it by [Of]; other clients have a new one for
// each call. If c is nil, so is the source.
//
//go:noinline // so that there is one code of its function: see Of
func (c *Sessions) Dialer(dial func(ctx context.Context, from *Source, addr string) (net.Conn, error)) Dial {
	if c == nil {
		return func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, nil, addr) }
	}
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		from, ours := ctx.Value(key{}).(**Source)
		if ours && *from != nil {
			return dial(ctx, *from, addr)
		}
		next := &Source{seed: c.Seed, number: c.number.Add(1)}
		if ours {
			*from = next
			return nil, nil
		}
		return dial(ctx, next, addr)
	}
}

var code = reflect.ValueOf(new(Sessions).Dialer(nil)).Pointer()

// Of returns a new source for a session that has this dialer, and the dialer with that source; nil
// and dial if it is the application's, which is not called: a dialer of ours is known by its code.
func Of(dial Dial) (s *Source, _ Dial) {
	if reflect.ValueOf(dial).Pointer() != code {
		return nil, dial
	}
	_, _ = dial(context.WithValue(context.Background(), key{}, &s), "", "") // does not dial
	return s, func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(context.WithValue(ctx, key{}, &s), network, addr)
	}
}
