package link

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/jute"
)

// births is what is known of the servers' create2, which answers a create with the znode's Stat. ZooKeeper has it since 3.5. An older server says that it is
// unimplemented and hangs up; other servers just hang up at what they don't know.
type births struct {
	known   bool // one was answered
	lost    int  // answers, before any came
	lacking bool // it is not asked for any more
}

// doubtful is how many answers may be lost before the servers are taken for those that hang up.
const doubtful = 2

// learn takes what became of a create2.
func (b *births) learn(err error) {
	switch {
	case errors.Is(err, ErrUnsupported):
		b.lacking = true
	case errors.Is(err, ErrNoReply):
		b.lost++
		b.lacking = b.lacking || !b.known && b.lost >= doubtful
	case errors.Is(err, ErrNotSent), errors.Is(err, ErrEnded), errors.Is(err, ErrTooLarge):
	default:
		b.known = true
	}
}

// CreateStat is Create, for the modes without a time to live, with an answer that tells the znode's Stat at its creation: whose it is, and its Czxid. The
// Stat is the zero one where servers can't tell. If that comes to light with this request, it is made a second time and written is called again.
func (c *Conn) CreateStat(path string, data []byte, mode Mode, acl []ACL, written func()) (string, Stat, error) {
	c.mu.Lock()
	lacking := c.births.lacking
	c.mu.Unlock()
	if !lacking {
		made, stat, err := c.create2(path, data, mode, acl, written)
		c.mu.Lock()
		c.births.learn(err)
		c.mu.Unlock()
		if !errors.Is(err, ErrUnsupported) {
			return made, stat, err
		}
	}
	made, err := c.Create(path, data, mode, 0, acl, written)
	return made, Stat{}, err
}

// create2 has the library make a create, out of which the line makes a create2, and a create's answer of what comes back.
func (c *Conn) create2(path string, data []byte, mode Mode, acl []ACL, written func()) (string, Stat, error) {
	r := &request{op: jute.OpCreate2, path: path, size: SizeAlone(Op{Kind: OpCreate, Path: path, Data: data, Mode: mode, ACL: acl}), written: written}
	var made string
	err := c.ask(r, func() (err error) {
		made, err = c.zk.Create(path, solid(data), int32(mode), toACL(acl))
		return err
	})
	if err != nil {
		return "", Stat{}, err
	}
	return made, r.stat, nil
}

// asCreate2 makes a create2 of a create: the two differ in the operation's number and the answer.
func asCreate2(frame []byte) []byte {
	frame = append(make([]byte, 0, len(frame)), frame...)
	binary.BigEndian.PutUint32(frame[8:], uint32(jute.OpCreate2))
	return frame
}

// born takes the Stat off the answer to a create2, so that a create's is left for the library.
func (l *line) born(r *request, length int) error {
	frame, err := l.takeFrame(length)
	if err != nil {
		return err
	}
	var answer jute.Reply
	if err := answer.DecodeBody(jute.NewReader(frame[headerLength:]), r.op); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	s := &answer.Stat
	r.stat = Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: moment(s.Ctime), Mtime: moment(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
	rest := frame[:len(frame)-statLength]
	l.held = append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(rest)), uint32(len(rest))), rest...)
	l.rest = len(l.held)
	return nil
}
