package zktest

// The methods below let a test prepare and inspect the tree without a client and a session. They
// fail with the codes [ErrNoNode], [ErrNodeExists] and [ErrBadArguments] (an invalid path, or one
// of ZooKeeper's own znodes, which cannot be deleted), wrapped with the path.

// Create creates a persistent znode that everybody can access, and its missing parents, in one
// transaction. Clients that watch get events.
func (s *Server) Create(path string, data []byte) error { return s.inner.CreateZnode(path, data) }

// Get returns the data of a znode, whatever its ACL allows; nil if it has none.
func (s *Server) Get(path string) ([]byte, error) { return s.inner.Data(path) }

// Set replaces the data of a znode, whatever its version and ACL. Clients that watch get events.
func (s *Server) Set(path string, data []byte) error { return s.inner.SetZnode(path, data) }

// Delete deletes a znode, ephemeral or not, and everything below it, in one transaction. Clients
// that watch get events.
func (s *Server) Delete(path string) error { return s.inner.DeleteZnode(path) }

// Children returns the names of a znode's children, sorted.
func (s *Server) Children(path string) ([]string, error) { return s.inner.Children(path) }
