package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/troupe-go/troupe/recipes/twopc"
)

// verdict opens both ledgers and compares them.
func verdict(dir string, transfers, killed int, out io.Writer) error {
	var sum int64
	var made [2]map[string]bool
	for i, site := range []string{north, south} {
		b, err := openBook(dir, site)
		if err != nil {
			return err
		}
		free, promised, paid, err := b.audit()
		if err := errors.Join(err, b.close()); err != nil {
			return err
		}
		if promised != 0 {
			return fmt.Errorf("%s still has %d set aside, but all transfers are over", site, promised)
		}
		fmt.Fprintf(out, "%s has %d\n", site, free)
		sum += free
		made[i] = paid
	}
	decided, err := outcomes(dir)
	if err != nil {
		return err
	}
	for _, t := range list(transfers) {
		switch outcome := decided[t.ID]; {
		case outcome == "":
			return fmt.Errorf("%s was not decided", t.ID)
		case (outcome == twopc.Committed.String()) != made[0][t.ID]:
			return fmt.Errorf("%s was %s, but the ledger of the %s says otherwise", t.ID, outcome, north)
		}
		if made[0][t.ID] != made[1][t.ID] {
			return fmt.Errorf("%s is in only one of the ledgers", t.ID)
		}
	}
	if want := int64(2 * accounts * initial); sum != want {
		return fmt.Errorf("the accounts have %d in total, want %d", sum, want)
	}
	fmt.Fprintf(out, "all %d transfers are in both ledgers or in none, and no money was lost, despite %d kills\n", transfers, killed)
	return nil
}

// outcomes returns the decisions that the coordinator has recorded.
func outcomes(dir string) (map[string]string, error) {
	db, err := bbolt.Open(filepath.Join(dir, "coordinator.db"), 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // it is only read
	all := make(map[string]string)
	return all, db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(decisions).ForEach(func(k, v []byte) error {
			all[string(k)] = string(v)
			return nil
		})
	})
}
