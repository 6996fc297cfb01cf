//go:build !unix || solaris || aix

package session

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
)

type fileKey struct{}

func openOwn(string, *slog.Logger) (*os.File, fileKey, error) {
	return nil, fileKey{}, fmt.Errorf("%w: %s has no flock", ErrUnsupported, runtime.GOOS)
}

func lockFile(*os.File) error { return ErrUnsupported }
