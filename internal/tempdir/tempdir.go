// Package tempdir makes temporary folders that do not stay for ever if the process that made them
// is killed: the next one that makes a folder of the same kind removes those whose process is gone.
//
// A lock on a file in the folder tells others that it is in use. The system releases the lock when
// the process ends, also if it is killed. There is no process id that could be another process's by
// then.
package tempdir

import (
	"os"
	"path/filepath"
	"time"
)

// Folder is a temporary folder of this process.
type Folder struct {
	path string
	lock *os.File
}

const (
	lockName = "in-use"
	// unfinished is how long a folder may be without its lock file: far longer than it takes to
	// make one.
	unfinished = time.Hour
)

// New makes a folder whose name begins with kind, in the system's folder for temporary files, and
// removes the folders of that kind that no process uses any more.
func New(kind string) (*Folder, error) {
	Sweep(os.TempDir(), kind)
	path, err := os.MkdirTemp("", kind+"-*")
	if err != nil {
		return nil, err
	}
	f := &Folder{path: path}
	if err := f.occupy(); err != nil {
		f.Remove()
		return nil, err
	}
	return f, nil
}

func (f *Folder) occupy() (err error) {
	name := filepath.Join(f.path, lockName)
	if f.lock, err = os.Create(name + ".new"); err != nil {
		return err
	}
	if _, err := tryLock(f.lock); err != nil {
		return err
	}
	return os.Rename(name+".new", name) // locked before it can be seen, so that no other process sweeps it
}

// Path is where it is.
func (f *Folder) Path() string { return f.path }

// Remove deletes the folder with all that is in it. Files that can't be deleted are left to the
// next New. It may be called on nil, and more than once.
func (f *Folder) Remove() {
	if f == nil {
		return
	}
	_ = os.RemoveAll(f.path)
	if f.lock != nil {
		_ = f.lock.Close() // only now, or another process would begin to delete too
	}
}

// Sweep removes the folders of a kind in a directory that no process uses.
func Sweep(dir, kind string) {
	paths, _ := filepath.Glob(filepath.Join(dir, kind+"-*")) // a pattern that is well-formed, if kind is plain
	for _, path := range paths {
		if abandoned(path) {
			_ = os.RemoveAll(path) // another user's files: no reason to fail
		}
	}
}

// abandoned also finds a folder whose process ended before it had locked it.
func abandoned(path string) bool {
	lock, err := os.Open(filepath.Join(path, lockName))
	if err != nil {
		info, err := os.Stat(path)
		return err == nil && info.IsDir() && time.Since(info.ModTime()) > unfinished && canLock
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	free, err := tryLock(lock)
	return err == nil && free && canLock
}
