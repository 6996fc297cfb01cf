package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

const (
	transfers = 60
	kills     = 6
	initial   = 2000 // at each site
)

// transfer moves money from one site to another.
type transfer struct {
	ID     string `json:"id"`
	From   string `json:"from"`
	To     string `json:"to"`
	Amount int64  `json:"amount"`
}

// list returns the transfers to make, the same in every process. Some exceed the balance of their
// site.
func list() []transfer {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]transfer, transfers)
	for i := range all {
		sites := r.Perm(2)
		all[i] = transfer{fmt.Sprintf("t-%03d", i), parties[sites[0]], parties[sites[1]], 1 + r.Int64N(900)}
	}
	return all
}

var errPoor = errors.New("not enough money")

// ledger is the account of a site, in a file that is replaced as a whole with each change.
type ledger struct {
	site, file string

	mu    sync.Mutex
	Free  int64            `json:"free"`
	Aside map[string]int64 `json:"aside"` // transfer → what this site has set aside for it
	Paid  map[string]bool  `json:"paid"`  // whether a transfer was made; kept for ever, so that a repeated one is recognized
}

func openLedger(dir, site string) (*ledger, error) {
	l := &ledger{site: site, file: filepath.Join(dir, site), Free: initial, Aside: make(map[string]int64), Paid: make(map[string]bool)}
	text, err := os.ReadFile(l.file)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	return l, errors.Join(err, json.Unmarshal(text, l))
}

// save replaces the file. A real ledger would also sync it to the disk.
func (l *ledger) save() error {
	text, err := json.Marshal(l)
	return errors.Join(err, os.WriteFile(l.file+".new", text, 0o600), os.Rename(l.file+".new", l.file))
}

// promise sets aside what a transfer needs from this site. It returns nil to vote for a commit. A
// repeated call has the same result.
func (l *ledger) promise(t transfer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, promised := l.Aside[t.ID]; promised || l.Paid[t.ID] {
		return nil
	}
	aside := int64(0)
	if t.From == l.site {
		aside = t.Amount
	}
	if l.Free < aside {
		return errPoor
	}
	l.Free -= aside
	l.Aside[t.ID] = aside
	return l.save()
}

// settle carries out a decision, once.
func (l *ledger) settle(t transfer, committed bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	aside, promised := l.Aside[t.ID]
	switch {
	case l.Paid[t.ID] || !committed && !promised:
		return nil
	case !promised:
		return fmt.Errorf("%s is to be paid, but %s has not promised it", t.ID, l.site)
	case !committed:
		l.Free += aside
	case t.To == l.site:
		l.Free += t.Amount
	}
	delete(l.Aside, t.ID)
	l.Paid[t.ID] = committed
	return l.save()
}
