package session

import (
	"errors"

	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Seen answers [Seat.Read].
type Seen struct {
	Epoch  uint64
	Path   string
	Exists bool
	Data   []byte
	Stat   Stat
	Err    error
}

// List reads the names of a znode's children. With watch, [Fired] tells of the next change: a child
// that comes or goes, or the znode's end. An error, a znode that is missing among them
// ([ErrNoNode]), arms nothing.
func (t *Seat) List(number uint64, path string, watch bool, done func(Listed)) {
	s := t.session
	refuse := func(err error) { done(Listed{Epoch: number, Path: path, Err: err}) }
	read := func(c *zkconn.Conn, watch bool) (func(), error) {
		names, stat, err := c.Children(s.Path(path), watch)
		return func() { done(Listed{Epoch: number, Path: path, Names: names, Stat: stat, Err: err}) }, err
	}
	t.look(number, &watchRead{seat: t, key: watches.Key{Path: s.Path(path), Kind: watches.Children}, read: read, refuse: refuse}, watch)
}

// Read reads a znode. With watch, [Fired] tells of the next change of its data, or of its end. A
// znode that is missing is no error, and arms nothing. A contender of the seat's own that it
// removes before the read with a watch was sent is not read any more: [ErrReleased].
func (t *Seat) Read(number uint64, path string, watch bool, done func(Seen)) {
	s := t.session
	refuse := func(err error) { done(Seen{Epoch: number, Path: path, Err: err}) }
	read := func(c *zkconn.Conn, watch bool) (func(), error) {
		data, stat, err := c.Get(s.Path(path), watch)
		seen := Seen{Epoch: number, Path: path, Exists: err == nil, Data: data, Stat: stat, Err: err}
		if errors.Is(err, ErrNoNode) {
			seen.Err = nil
			s.missing(path)
		}
		return func() { done(seen) }, err
	}
	t.look(number, &watchRead{seat: t, key: watches.Key{Path: s.Path(path), Kind: watches.Data}, read: read, refuse: refuse}, watch)
}

// look reads: with a watch, by way of the actor, which keeps the table of watches; without,
// straight away.
func (t *Seat) look(number uint64, r *watchRead, watch bool) {
	s := t.session
	if !watch {
		t.within(number, func(e *epoch) {
			var answer func()
			err := s.insist(e, bounded(func(c *zkconn.Conn) (err error) {
				answer = nil
				var read func()
				if read, err = r.read(c, false); err == nil || definite(err) {
					answer = read
				}
				return err
			}))
			if answer == nil {
				r.refuse(err)
				return
			}
			answer()
		}, r.refuse)
		return
	}
	s.mu.Lock()
	r.epoch = s.current(number)
	closing := s.closing
	if r.epoch != nil && !closing {
		r.epoch.reads[r] = struct{}{}
	}
	s.mu.Unlock()
	switch {
	case closing:
		r.refuse(ErrClosed)
	case r.epoch == nil:
		if !s.tasks.run(func() { r.refuse(ErrExpired) }) {
			r.refuse(ErrClosed)
		}
	case !s.ref.Tell(asked{r}):
		r.answered(func() { r.refuse(ErrClosed) })
	}
}
