package zktest

// What a test wants to be there before its program starts, and to see afterwards, needs no client
// and no session. These methods fail with the codes [ErrNoNode], [ErrNodeExists] and
// [ErrBadArguments] (the path can't be, or the znode is one of ZooKeeper's own, which stay),
// wrapped with the path.

// Create makes a persistent znode, open to everybody, and the parents that are missing, in one
// transaction. Clients that watch are told.
func (s *Server) Create(path string, data []byte) error { return s.inner.CreateZnode(path, data) }

// Get returns the data of a znode, whatever its ACL says; nil if it has none.
func (s *Server) Get(path string) ([]byte, error) { return s.inner.Data(path) }

// Set replaces the data of a znode, whatever its version and ACL say. Clients that watch are told.
func (s *Server) Set(path string, data []byte) error { return s.inner.SetZnode(path, data) }

// Delete deletes a znode, also an ephemeral, and everything below it, in one transaction. Clients
// that watch are told.
func (s *Server) Delete(path string) error { return s.inner.DeleteZnode(path) }

// Children returns the names of a znode's children, sorted.
func (s *Server) Children(path string) ([]string, error) { return s.inner.Children(path) }
