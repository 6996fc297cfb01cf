package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
)

// The buckets of a ledger. Each step is one transaction of the file.
var (
	balances = []byte("balances") // account → free money
	aside    = []byte("aside")    // transfer → what this site has set aside for it
	paid     = []byte("paid")     // transfers that were made; kept for ever, so that a repeated one is recognized
)

var errPoor = errors.New("not enough money")

// ledger is the accounts of a site.
type ledger struct {
	db   *bbolt.DB
	site string
}

func openBook(dir, site string) (*ledger, error) {
	db, err := bbolt.Open(filepath.Join(dir, site+".db"), 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("the ledger of %s: %w", site, err)
	}
	b := &ledger{db, site}
	return b, db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{balances, aside, paid} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		for i := range accounts {
			if tx.Bucket(balances).Get(account(i)) == nil {
				if err := set(tx, i, initial); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (b *ledger) close() error { return b.db.Close() }

// promise sets aside what the transfer needs from this site. It returns nil to vote for a commit. A
// repeated call has the same result.
func (b *ledger) promise(t transfer) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		if id := []byte(t.ID); tx.Bucket(paid).Get(id) != nil || tx.Bucket(aside).Get(id) != nil {
			return nil
		}
		if t.From == b.site {
			free := get(tx, t.Payer)
			if free < t.Amount {
				return errPoor
			}
			if err := set(tx, t.Payer, free-t.Amount); err != nil {
				return err
			}
		}
		return tx.Bucket(aside).Put([]byte(t.ID), t.payload())
	})
}

// settle carries out a decision, once. A transfer that was paid stays paid, even if a repetition of
// it is aborted: its coordinator repeats it if it does not know of the first time.
func (b *ledger) settle(t transfer, committed bool) error {
	return b.db.Update(func(tx *bbolt.Tx) error {
		id := []byte(t.ID)
		promised := tx.Bucket(aside).Get(id) != nil
		switch {
		case tx.Bucket(paid).Get(id) != nil:
			return nil
		case !committed && !promised:
			return nil
		case !promised:
			return fmt.Errorf("%s is to be paid, but %s has not promised it", t.ID, b.site)
		case committed && t.To == b.site:
			if err := set(tx, t.Payee, get(tx, t.Payee)+t.Amount); err != nil {
				return err
			}
		case !committed && t.From == b.site:
			if err := set(tx, t.Payer, get(tx, t.Payer)+t.Amount); err != nil {
				return err
			}
		}
		if committed {
			if err := tx.Bucket(paid).Put(id, []byte{}); err != nil {
				return err
			}
		}
		return tx.Bucket(aside).Delete(id)
	})
}

// audit returns the money that is free, the money that is set aside, and the transfers that were
// made.
func (b *ledger) audit() (free, promised int64, made map[string]bool, err error) {
	made = make(map[string]bool)
	err = b.db.View(func(tx *bbolt.Tx) error {
		for i := range accounts {
			free += get(tx, i)
		}
		if err := tx.Bucket(aside).ForEach(func(_, v []byte) error {
			var t transfer
			err := json.Unmarshal(v, &t)
			promised += t.Amount
			return err
		}); err != nil {
			return err
		}
		return tx.Bucket(paid).ForEach(func(k, _ []byte) error {
			made[string(k)] = true
			return nil
		})
	})
	return free, promised, made, err
}

func account(i int) []byte { return []byte(strconv.Itoa(i)) }

func get(tx *bbolt.Tx, i int) int64 {
	v := tx.Bucket(balances).Get(account(i))
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

func set(tx *bbolt.Tx, i int, money int64) error {
	return tx.Bucket(balances).Put(account(i), binary.BigEndian.AppendUint64(nil, uint64(money)))
}
