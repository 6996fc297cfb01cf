//go:build !unix

package run

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.ErrUnsupported }

func resume(*os.Process) error { return errors.ErrUnsupported }
