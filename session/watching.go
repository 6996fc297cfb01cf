package session

import (
	"errors"

	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// watchRead is a read with a watch, on its way through the table of watches.
type watchRead struct {
	client *client
	epoch  *epoch
	key    watches.Key
	read   func(c *zkconn.Conn, watch bool) (answer func(), err error)
	refuse func(err error)
	birth  bool // a missing znode is watched too

	at   connRef // over which it was lost
	lost losses
}

// Pending implements [watches.Request].
func (r *watchRead) Pending() bool {
	_, open := r.epoch.watched.reads[r]
	return open
}

// Send implements [watches.Request].
func (r *watchRead) Send(of *watches.Read, watch bool) {
	s := r.client.session
	s.tasks.run(func() { // false: the session has ended, and the epoch before it, which refuses the read
		for try := 1; r.send(of, watch); try++ {
			s.requests.pause(s.tasks.life, backoff(try))
			r.at = connRef{}
		}
	})
}

// send sends the read and tells the table what came of it. True: an overloaded server has not
// carried it out, so that it is to be sent again.
func (r *watchRead) send(of *watches.Read, watch bool) (again bool) {
	s := r.client.session
	at, err := s.requests.conn(s.tasks.life, r.epoch, r.at)
	if err != nil {
		r.epoch.watched.answer(r, func() { r.refuse(s.requests.unlessClosed(err)) })
		return false
	}
	s.requests.pauseAfterLoss(s.tasks.life, r.lost.times)
	answer, err := r.attempt(watch)
	switch {
	case errors.Is(err, zkconn.ErrThrottled):
		return true
	case err != nil && !definite(err):
		r.at = at.lost(err)
		r.epoch.watched.done(r, of, nil, false)
	default:
		r.epoch.watched.done(r, of, answer, err == nil || r.birth && errors.Is(err, ErrNoNode))
	}
	return false
}

// attempt reads, unless that was lost too often.
func (r *watchRead) attempt(watch bool) (answer func(), err error) {
	c := r.epoch.conn
	if err := r.lost.verdict(c); err != nil {
		return func() { r.refuse(err) }, err
	}
	return once(&r.lost, c, func(c *zkconn.Conn) (func(), error) { return r.read(c, watch) })
}
