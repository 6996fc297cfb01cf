package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/troupe-go/troupe/recipes/fence"
)

// errRefused is the ledger's reply to a writer whose token is too old.
var errRefused = errors.New("refused")

// ledger is a resource outside ZooKeeper: an HTTP handler that stores lines.
type ledger struct {
	mu    sync.Mutex // held over the gate's check and the write
	gate  fence.Gate
	lines []string
}

// ServeHTTP stores a line if the gate admits the sequencer of its writer's grant.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := fence.Parse(r.PostFormValue("sequencer"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.gate.Admit(q); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	l.lines = append(l.lines, r.PostFormValue("line"))
}

// post sends a line to a ledger.
func post(address string, q fence.Sequencer, line string) error {
	answer, err := http.PostForm(address, url.Values{"sequencer": {q.String()}, "line": {line}}) //nolint:gosec // the address is the ledger's
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // nothing is read
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusConflict:
		return errRefused
	}
	return fmt.Errorf("the ledger: %s", answer.Status)
}
