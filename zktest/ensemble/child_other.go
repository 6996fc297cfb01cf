//go:build !unix

package ensemble

import (
	"errors"
	"os"
)

// supported is nil where servers can be paused.
var supported = errors.New("real ZooKeeper is not available: it needs a Unix system, for the signals that pause a server")

func suspend(*os.Process) error { return supported }

func resume(*os.Process) error { return supported }
