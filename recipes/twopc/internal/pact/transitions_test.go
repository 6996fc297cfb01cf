package pact_test

import (
	"fmt"

	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
)

type step struct{ from, to pact.Phase }

// declared is the table as a set.
var declared = func() map[step]bool {
	set := map[step]bool{}
	for _, tr := range pact.Transitions() {
		set[step{tr.From, tr.To}] = true
	}
	return set
}()

// checkDeclared fails what takes a transition that the table lacks.
func checkDeclared(from, to pact.Phase) {
	if !declared[step{from, to}] {
		panic(failure(fmt.Sprintf("undeclared: %v → %v", from, to)))
	}
}
