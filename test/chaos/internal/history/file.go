package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Suffix ends the names of history files.
const Suffix = ".history"

// Writer writes one process's history. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// Create begins the history of a worker's incarnation in a folder.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{file: f}, nil
}

// Write adds an event, with the present time if it has none. Close returns the error of a file that
// can't be written.
func (w *Writer) Write(e Event) {
	if e.At == 0 {
		e.At = Now()
	}
	line, err := json.Marshal(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.err == nil {
		_, err = w.file.Write(append(line, '\n'))
	}
	w.err = errors.Join(w.err, err)
}

// Close ends the history, and returns the errors of its writes.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.err, w.file.Close())
}

// Load reads all histories of a folder, in the order of their times.
func Load(folder string) ([]Event, error) { return LoadFrom(folder, nil) }

// Ends are the present ends of a folder's histories, for LoadFrom.
func Ends(folder string) (map[string]int64, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+Suffix))
	if err != nil {
		return nil, err
	}
	ends := make(map[string]int64)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		ends[path] = info.Size()
	}
	return ends, nil
}

// LoadFrom reads the events behind those ends.
func LoadFrom(folder string, ends map[string]int64) ([]Event, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+Suffix))
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		var events []Event
		if _, err = f.Seek(ends[path], io.SeekStart); err == nil {
			events, err = Parse(f, strings.TrimSuffix(filepath.Base(path), Suffix))
		}
		_ = f.Close() // nothing was written
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return int(min(max(a.At-b.At, -1), 1)) })
	return all, nil
}

// Parse reads one history. A torn last line, of a worker that was killed, is left out.
func Parse(r io.Reader, worker string) ([]Event, error) {
	var events []Event
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return events, nil
			}
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e := Event{Worker: worker}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("history of %s, line %d: %w", worker, number, err)
		}
		events = append(events, e)
	}
}
