package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// errNoParent: the parent of claims does not exist.
var errNoParent = errors.New("no parent of claims")

// Claimed is a claim on an item: a possession, until it is settled. Its path is that of the claim's
// znode, its token the zxid of the transaction that made it. When it is lost, the znode is deleted
// in the background.
type Claimed struct {
	*session.Hold

	Entry Entry
	Epoch uint64

	claims  *claims
	path    string
	token   int64
	version int32 // of the item, by this claim

	mu   sync.Mutex
	how  how           // it is settled
	over *notify.Latch // it is settled, or its znode is gone
	err  error         // of the settlement; set before
}

// how is what becomes of the item.
type how int

const (
	ack how = iota + 1
	nack
)

// make makes the claim. It writes the item too, so that the version is this claim's alone.
func (c *Claimed) make(owner int64) error {
	guid := []byte(znode.NewGUID())
	for {
		results, err := c.commit(
			session.SetOp(c.Entry.Path, c.Entry.Data, c.version-1), session.CreateOp(c.path, guid, session.Ephemeral()),
		)
		switch {
		case err == nil:
			c.token = results[0].Stat.Mzxid
			return nil
		case errors.Is(err, session.ErrNoNode) && len(results) == 2 && results[0].Err == nil:
			return errNoParent
		case !errors.Is(err, session.ErrUnknownOutcome), errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed):
			return err // with the epoch the claim is gone
		}
		seen := c.read(c.path)
		if seen.Err != nil {
			return seen.Err
		}
		if seen.Exists && seen.Stat.EphemeralOwner == owner && bytes.Equal(seen.Data, guid) {
			c.token = seen.Stat.Czxid
			return nil
		}
	}
}

// possess makes a possession of the claim, as soon as the session vouches for it. If it can't, the
// claim is given up.
func (c *Claimed) possess(ctx context.Context) (*Claimed, error) {
	of := c.claims
	for {
		of.mu.Lock()
		changed := of.changed
		of.mu.Unlock()
		hold, err := of.client.Hold(c.Epoch, c.path, c.token, c.ended)
		if err == nil {
			c.Hold = hold
			of.mu.Lock()
			of.held[c.path] = c
			of.mu.Unlock()
			if hold.Err() != nil {
				c.drop()
			}
			c.look()
			return c, nil
		}
		if errors.Is(err, session.ErrUntrusted) || errors.Is(err, session.ErrSuspended) {
			err = of.wait(ctx, changed)
		}
		if err != nil {
			c.remove(func(error) {})
			return nil, err
		}
	}
}

// look reads the claim, and watches it.
func (c *Claimed) look() {
	if c.Err() != nil {
		return
	}
	c.claims.client.Read(c.Epoch, c.path, true, func(seen session.Seen) {
		if seen.Err == nil && !c.is(seen) && !c.acking() {
			c.End(session.ErrDeleted)
		}
	})
}

// is tells whether what was seen at its path is this claim.
func (c *Claimed) is(seen session.Seen) bool { return seen.Exists && seen.Stat.Czxid == c.token }

// End ends the possession with a cause, as a loss unless it is [session.ErrReleased], and has the
// claim deleted in the background.
func (c *Claimed) End(cause error) { c.claims.client.End(c.Hold, cause) }

// ended is called when the possession has ended.
func (c *Claimed) ended(error) {
	c.drop()
	if !c.acking() {
		c.remove(func(err error) {
			c.err = err
			c.over.Close()
		})
	}
}

// acking tells whether the claim's znode is being deleted with the item.
func (c *Claimed) acking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.how == ack
}

func (c *Claimed) drop() {
	c.claims.mu.Lock()
	defer c.claims.mu.Unlock()
	if c.claims.held[c.path] == c {
		delete(c.claims.held, c.path)
	}
}

// remove deletes the claim for certain, in the background, unless there is another at its path.
func (c *Claimed) remove(done func(error)) {
	client := c.claims.client
	client.Read(c.Epoch, c.path, false, func(seen session.Seen) {
		switch {
		case errors.Is(seen.Err, session.ErrClosed):
			done(seen.Err)
		case seen.Err != nil || !c.is(seen): // with its epoch it is gone too
			done(nil)
		default:
			client.Remove(c.Epoch, c.path, done)
		}
	})
}

// Ack deletes the item and the claim. With [session.ErrLost] the claim was lost before and nothing
// was done; if [session.ErrUnknownOutcome] comes with it, the session ended while the answer was
// out, and the item was deleted by this Ack or is the next one's. If ctx ends first its cause is
// returned, and the Ack goes on. Further calls return the same.
func (c *Claimed) Ack(ctx context.Context) error { return c.settle(ctx, ack) }

// Nack ends the possession and then deletes the claim, so that the item can be claimed again. It is
// like Ack in everything else.
func (c *Claimed) Nack(ctx context.Context) error { return c.settle(ctx, nack) }

func (c *Claimed) settle(ctx context.Context, how how) error {
	leave, err := c.claims.queue.enter()
	if err != nil {
		return lost(err)
	}
	defer leave()
	c.mu.Lock()
	before, over := c.how, c.Err()
	if before == 0 && over == nil {
		c.how = how
	}
	c.mu.Unlock()
	switch {
	case before == 0 && over != nil:
		return lost(over)
	case before == 0 && how == ack:
		c.claims.queue.calls.Go(c.acknowledge) // ends with the answer, at the latest with the epoch
	case before == 0:
		c.End(session.ErrReleased)
	case before != how:
		return fmt.Errorf("%w: it is already being settled in another way", session.ErrReleased)
	}
	if err := notify.Wait(ctx, c.over.C()); err != nil {
		return err
	}
	return c.err
}

func (c *Claimed) acknowledge() {
	c.err = c.deleteBoth()
	cause := session.ErrReleased
	if errors.Is(c.err, session.ErrLost) {
		cause = session.ErrDeleted
	}
	c.End(cause)
	c.over.Close()
	if c.err != nil {
		c.remove(func(error) {})
	}
}

func (c *Claimed) deleteBoth() error {
	for {
		_, err := c.commit(session.DeleteOp(c.path, -1), session.DeleteOp(c.Entry.Path, c.version))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion):
			return lost(session.ErrDeleted)
		case errors.Is(err, session.ErrUnknownOutcome):
		case errors.Is(err, session.ErrExpired):
			return lost(err)
		default:
			return err
		}
		if !errors.Is(err, session.ErrExpired) && !errors.Is(err, session.ErrClosed) {
			seen := c.read(c.Entry.Path) // while the claim stands nobody else deletes it
			switch {
			case seen.Err == nil && !seen.Exists:
				return nil
			case seen.Err == nil && seen.Stat.Version != c.version:
				return lost(session.ErrDeleted)
			case seen.Err == nil:
				continue
			}
		}
		return c.acknowledged()
	}
}

// acknowledged is what became of an Ack whose answer was lost with the epoch. If the item is there,
// it was not carried out. If it is gone, it was, or the next claim's was: nobody can tell.
func (c *Claimed) acknowledged() error {
	q := c.claims.queue
	stat, exists, err := q.session.Exists(q.life, c.Entry.Path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrUnknownOutcome, err)
	case exists && stat.Version >= c.version:
		return lost(session.ErrExpired)
	}
	return fmt.Errorf("%w: %w", session.ErrLost, session.ErrUnknownOutcome)
}

// commit carries out a transaction in the epoch of the claim.
func (c *Claimed) commit(ops ...session.Op) ([]session.Result, error) {
	type answer struct {
		results []session.Result
		err     error
	}
	done := make(chan answer, 1)
	c.claims.client.Commit(c.Epoch, ops, func(results []session.Result, err error) { done <- answer{results, err} })
	a := <-done
	return a.results, a.err
}

// read reads a znode in the epoch of the claim.
func (c *Claimed) read(path string) session.Seen {
	done := make(chan session.Seen, 1)
	c.claims.client.Read(c.Epoch, path, false, func(seen session.Seen) { done <- seen })
	return <-done
}

// lost turns the end of a possession into the error of a late settlement: for that an earlier
// release is a loss too.
func lost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}
