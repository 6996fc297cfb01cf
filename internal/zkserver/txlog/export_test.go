package txlog

import "os"

// SetSync takes the place of fsync.
func (s *Store) SetSync(sync func(*os.File) error) { s.sync = sync }
