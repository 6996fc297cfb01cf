package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// slots is how many transactions of a queue can be under way at once.
const slots = 16

// receipt is a znode that only this queue writes, in each transaction. Its data are a mark of the
// last one that was carried out.
type receipt struct {
	path    string // "" until there is one
	epoch   uint64 // in which it was last made to stay
	version int32
	doubt   bool // the version may be another
}

// written is what became of a transaction. If its answer was lost there are no results.
type written struct {
	results []session.Result
	zxid    int64
}

// failed tells whether it was not carried out because of this operation.
func (w written) failed(i int) bool { return len(w.results) > i && w.results[i].Err != nil }

// once carries out a transaction, and finds out whether it was carried out if the answer is lost.
// If it can't, for want of time or because the receipt is gone, it is [session.ErrUnknownOutcome].
// So many bytes more than needed are sent with it.
func (q *Queue) once(ctx context.Context, ballast int, ops ...session.Op) (written, error) {
	r, err := q.borrow(ctx)
	if err != nil {
		return written{}, err
	}
	defer q.giveBack(r)
	mark := append([]byte(znode.NewGUID()), bytes.Repeat([]byte(" "), ballast)...)
	for {
		if err := q.prepare(ctx, r); err != nil {
			return written{}, err
		}
		results, err := q.session.Multi(ctx, append([]session.Op{session.SetOp(r.path, mark, r.version)}, ops...)...)
		switch {
		case err == nil:
			r.version++
			return written{results[1:], results[0].Stat.Mzxid}, nil
		case errors.Is(err, session.ErrUnknownOutcome):
			if done, zxid, err := q.carriedOut(ctx, r, mark, err); done || err != nil {
				return written{zxid: zxid}, err
			}
		case len(results) == 0:
			return written{}, err
		case results[0].Err == nil:
			return written{results: results[1:]}, err
		case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion):
			r.doubt = true // the receipt's: the server has deleted it, or a transaction came late
		default:
			return written{}, err
		}
	}
}

// borrow takes a receipt that is not in use, the one that was used last if there is any.
func (q *Queue) borrow(ctx context.Context) (*receipt, error) {
	select {
	case q.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.receipts)
	if n == 0 {
		return new(receipt), nil
	}
	r := q.receipts[n-1]
	q.receipts = q.receipts[:n-1]
	return r, nil
}

func (q *Queue) giveBack(r *receipt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.path != "" {
		q.receipts = append(q.receipts, r)
	}
	<-q.slots
}

// carriedOut reads what became of a transaction whose answer was lost. One that was not carried out
// can be repeated: if it turns up after all, one of the two finds the version changed.
func (q *Queue) carriedOut(ctx context.Context, r *receipt, mark []byte, lost error) (done bool, zxid int64, err error) {
	r.doubt = true
	data, stat, err := q.session.Get(ctx, r.path)
	switch {
	case err != nil: // it may be gone, after a long outage
		return false, 0, lost
	case bytes.Equal(data, mark):
		r.doubt, r.version = false, stat.Version
		return true, stat.Mzxid, nil
	case stat.Version != r.version:
		return false, 0, lost
	}
	r.doubt = false
	return false, 0, nil
}

// prepare makes a receipt, and has it stay for this epoch: without children the server deletes it,
// some time after its process has died.
func (q *Queue) prepare(ctx context.Context, r *receipt) error {
	if r.doubt {
		stat, exists, err := q.session.Exists(ctx, r.path)
		if err != nil {
			return err
		}
		r.doubt, r.version = false, stat.Version // of one that others may have written, whatever it is
		if !exists {
			*r = receipt{}
		}
	}
	if r.path == "" {
		*r = receipt{path: znode.Join(q.path+"-troupe", "receipts/"+string(znode.NewGUID()))}
	}
	for epoch := q.session.Status().Epoch; r.epoch != epoch || epoch == 0; {
		_, err := q.session.Create(ctx, fmt.Sprintf("%s/alive-%d", r.path, epoch), nil, session.Ephemeral(), session.Parents())
		switch {
		case err == nil, errors.Is(err, session.ErrNodeExists):
			r.epoch = epoch
			return nil
		case ctx.Err() != nil: // nothing was sent
			return context.Cause(ctx)
		case !errors.Is(err, session.ErrUnknownOutcome):
			return err
		case q.session.Err() != nil:
			return q.session.Err()
		}
	}
	return nil
}

// forget deletes the receipts, of which none is in use any more.
func (q *Queue) forget(ctx context.Context) error {
	q.mu.Lock()
	all := q.receipts
	q.receipts = nil
	q.mu.Unlock()
	for _, r := range all {
		if err := q.session.DeleteAll(ctx, r.path); err != nil {
			return err
		}
	}
	return nil
}
