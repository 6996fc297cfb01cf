package txlog

import "os"

// SetLimits sets how large frames and records become.
func (s *Store) SetLimits(frame, record int) { s.limits = limits{frame, record} }

// SetSync takes the place of fsync.
func (s *Store) SetSync(sync func(*os.File) error) { s.sync = sync }
