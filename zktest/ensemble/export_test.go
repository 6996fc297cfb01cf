package ensemble

import (
	"io"

	"github.com/troupe-go/troupe/internal/tempdir"
)

// Visible to the tests of this package alone.
var (
	FindIn     = func(env func(string) string, debian string) error { _, err := findIn(env, debian); return err }
	Sweep      = func(dir string) { tempdir.Sweep(dir, rootKind) }
	ParseStats = parseStats
)

func Announcing(addr string) func(io.Reader) ([]byte, error) { return announcing(addr) }

// WithPorts lays the ensemble out as on systems whose loopback has one address.
func WithPorts() Option { return func(s *settings) error { s.ports = true; return nil } }

func (e *Ensemble) Pid(i int) int { return e.servers[i].proc.os.Pid }

func (e *Ensemble) Root() string { return e.root.Path() }

var ParseVersion = parseVersion
