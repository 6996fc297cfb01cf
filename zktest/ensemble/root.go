package ensemble

import (
	"os"
	"path/filepath"
)

// root is the temporary folder of an ensemble. A lock on a file in it tells other processes that it is in use.
type root struct {
	path string
	lock *os.File
}

const (
	rootPattern = "troupe-zookeeper-*"
	lockName    = "in-use"
)

// makeRoot also removes the folders of processes that were killed.
func makeRoot() (root, error) {
	sweep(os.TempDir())
	path, err := os.MkdirTemp("", rootPattern)
	if err != nil {
		return root{}, err
	}
	name := filepath.Join(path, lockName)
	lock, err := os.Create(name + ".new")
	if err != nil {
		return root{path: path}, err
	}
	if _, err = tryLock(lock); err == nil {
		err = os.Rename(name+".new", name) // locked before it can be seen, so that no other process sweeps it
	}
	return root{path: path, lock: lock}, err
}

func (r root) remove() {
	if r.path == "" {
		return
	}
	_ = os.RemoveAll(r.path) // what remains is swept by the next ensemble
	_ = r.lock.Close()
}

// sweep removes folders of ensembles that nobody has locked. One that has no lock file yet is just being made.
func sweep(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, rootPattern, lockName)) // the pattern is well-formed
	for _, name := range locks {
		lock, err := os.Open(name)
		if err != nil {
			continue
		}
		if free, err := tryLock(lock); err == nil && free {
			_ = os.RemoveAll(filepath.Dir(name)) // somebody else's files: no reason to fail
		}
		_ = lock.Close()
	}
}
