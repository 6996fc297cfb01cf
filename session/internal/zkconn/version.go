package zkconn

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// This package relies on when this version of the library reads and writes, and on how its
// goroutines end. A test compares it with go.mod.
const (
	libraryPath    = "github.com/go-zookeeper/zk"
	libraryVersion = "v1.0.4"
)

// libraryWarning limits the warning to one in a program.
var libraryWarning sync.Once

// warnOfLibrary logs a warning if the program was built with another version of the library, or
// with a replacement. A program that does not tell is not warned of.
func warnOfLibrary(log *slog.Logger, once *sync.Once) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	if built := libraryOf(info); built != "" && built != libraryVersion {
		once.Do(func() {
			log.Warn("built with a go-zookeeper that Troupe is not tested with", "version", built, "tested", libraryVersion)
		})
	}
}

// libraryOf is the version of the library that a program was built with; "" if it does not tell.
func libraryOf(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		switch {
		case dep.Path != libraryPath:
		case dep.Replace != nil:
			return dep.Replace.Path + " " + dep.Replace.Version
		default:
			return dep.Version
		}
	}
	return ""
}
