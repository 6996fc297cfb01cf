package zktest

import (
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// Participant is a session of another program, without that program:
//
//	other := server.Join()
//	path, err := other.CreateSequential("/locks/orders/x-", nil) // it is first in line
//	…
//	other.Leave() // now it is the turn of yours
type Participant struct {
	admin zkserver.Admin
	id    int64
}

// Join opens a session that no client has. It does not expire: it ends with [Participant.Leave],
// [Server.Expire] or [Server.LoseSessions]. [Server.Sessions] lists it, with a timeout of 0.
func (s *Server) Join() *Participant {
	admin := zkserver.Admin{Server: s.inner}
	id, err := admin.Join()
	succeed(s, "Join", err)
	return &Participant{admin, id}
}

// SessionID is the session's id, the owner of its znodes.
func (p *Participant) SessionID() int64 { return p.id }

// Create creates an ephemeral znode, and its missing parents, which are persistent. It fails with
// [ErrSessionExpired] when the session has ended.
func (p *Participant) Create(path string, data []byte, opts ...CreateOption) error {
	_, err := create(p.admin, p.id, jute.FlagEphemeral, path, data, opts)
	return err
}

// CreateSequential is Create with a number of ten digits added to the path, which is returned.
func (p *Participant) CreateSequential(path string, data []byte, opts ...CreateOption) (string, error) {
	return create(p.admin, p.id, jute.FlagEphemeralSequential, path, data, opts)
}

// Leave ends the session: its znodes are deleted. It does nothing if the session has ended.
func (p *Participant) Leave() { p.admin.Server.Expire(p.id) }
