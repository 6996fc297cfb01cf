package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/fence"
)

// errRefused is the ledger's reply to a writer whose token is too old.
var errRefused = errors.New("refused")

// header is the HTTP header that carries the sequencer.
const header = "X-Sequencer"

// ledger is a resource outside ZooKeeper. It stores lines, and checks each writer's sequencer with
// a gate.
type ledger struct {
	server http.Server
	url    string
	served chan struct{}

	mu    sync.Mutex // held over the gate's check and the write
	gate  fence.Gate
	lines []string
}

func openLedger() (*ledger, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &ledger{url: "http://" + listener.Addr().String(), served: make(chan struct{})}
	l.server = http.Server{Handler: l, ReadHeaderTimeout: time.Second}
	go func() { // ends when close is called
		defer close(l.served)
		_ = l.server.Serve(listener)
	}()
	return l, nil
}

// ServeHTTP stores a line if the gate admits its sequencer.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	line, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q, err := fence.Parse(r.Header.Get(header))
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
	l.lines = append(l.lines, string(line))
}

func (l *ledger) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

func (l *ledger) close() {
	_ = l.server.Close() // no writer is left
	<-l.served
}

// post sends a line to a ledger.
func post(ctx context.Context, url string, q fence.Sequencer, line string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(line))
	if err != nil {
		return err
	}
	r.Header.Set(header, q.String())
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusConflict:
		return fmt.Errorf("%w: %s", errRefused, strings.TrimSpace(string(text)))
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}
