package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

const initial = 1500 // at each site

var errPoor = errors.New("not enough money")

// ledger is the account of a site, in a file that is replaced as a whole with each change.
type ledger struct {
	site, file string

	mu       sync.Mutex
	Free     int64           `json:"free"`
	Promised map[string]bool `json:"promised"` // undecided transfers; this site's payments are set aside
	Paid     map[string]bool `json:"paid"`     // transfers that were made; kept for ever, so that a repeated one is recognized
}

func openLedger(dir, site string) (*ledger, error) {
	l := &ledger{site: site, file: filepath.Join(dir, site), Free: initial, Promised: map[string]bool{}, Paid: map[string]bool{}}
	text, err := os.ReadFile(l.file)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	return l, errors.Join(err, json.Unmarshal(text, l))
}

// save replaces the file. A real ledger would also sync it to the disk.
func (l *ledger) save() error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(l.file+".new", l.file)
}

// promise sets this site's payment of a transfer aside. It returns nil to vote for a commit. A
// repeated call has the same result.
func (l *ledger) promise(t transfer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Promised[t.ID] || l.Paid[t.ID]:
		return nil
	case t.From == l.site && l.Free < t.Amount:
		return errPoor
	case t.From == l.site:
		l.Free -= t.Amount
	}
	l.Promised[t.ID] = true
	return l.save()
}

// settle carries out a decision, once.
func (l *ledger) settle(t transfer, committed bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.Promised[t.ID] {
		return nil
	}
	delete(l.Promised, t.ID)
	if committed {
		l.Paid[t.ID] = true
	}
	if payee := t.From != l.site; payee == committed { // the payee gets the money, or the payer gets it back
		l.Free += t.Amount
	}
	return l.save()
}
