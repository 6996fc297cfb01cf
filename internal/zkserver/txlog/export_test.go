package txlog

import "os"

// SetLimits sets how large frames and records become.
func (s *Store) SetLimits(frame, record int) { s.limits = limits{frame, record} }

// SetCreate takes the place of what makes a log.
func (s *Store) SetCreate(create func(name string) (*os.File, error)) { s.create = create }

// SetSync takes the place of fsync.
func (s *Store) SetSync(sync func(*os.File) error) { s.sync = sync }
