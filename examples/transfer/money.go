package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

const (
	north = "north"
	south = "south"

	accounts = 10
	initial  = 1000 // in each account
)

// transfer moves money from one account to another.
type transfer struct {
	ID     string `json:"-"`
	From   string `json:"from"` // the site that pays
	To     string `json:"to"`   // the site that is paid
	Payer  int    `json:"payer"`
	Payee  int    `json:"payee"`
	Amount int64  `json:"amount"`
}

func (t transfer) payload() []byte {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // cannot fail: numbers and plain strings
	}
	return b
}

func parse(id string, payload []byte) (transfer, error) {
	t := transfer{ID: id}
	if err := json.Unmarshal(payload, &t); err != nil {
		return t, fmt.Errorf("transfer %s: %w", id, err)
	}
	return t, nil
}

// list returns the transfers to make, the same on every start. Some exceed the balance of their
// account.
func list(n int) []transfer {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]transfer, n)
	for i := range all {
		t := transfer{
			ID: fmt.Sprintf("t-%03d", i), From: north, To: south,
			Payer: r.IntN(accounts), Payee: r.IntN(accounts), Amount: 1 + r.Int64N(900),
		}
		if r.IntN(2) == 0 {
			t.From, t.To = south, north
		}
		all[i] = t
	}
	return all
}
