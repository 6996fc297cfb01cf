package main

import (
	"errors"
	"fmt"
	"io"
)

// verdict opens both books and says whether they agree.
func verdict(dir string, transfers, killed int, out io.Writer) error {
	var sum int64
	var ended [2]map[string]string
	for i, site := range []string{north, south} {
		b, err := openBook(dir, site)
		if err != nil {
			return err
		}
		free, promised, how, err := b.audit()
		if err := errors.Join(err, b.close()); err != nil {
			return err
		}
		if promised != 0 {
			return fmt.Errorf("%s has %d set aside for transfers that are over", site, promised)
		}
		fmt.Fprintf(out, "%s has %d\n", site, free)
		sum += free
		ended[i] = how
	}
	for _, t := range list(transfers) {
		if a, b := ended[0][t.ID], ended[1][t.ID]; a != b || a == "" {
			return fmt.Errorf("%s is %q in the north and %q in the south", t.ID, a, b)
		}
	}
	if want := int64(2 * accounts * initial); sum != want {
		return fmt.Errorf("there is %d, and there was %d", sum, want)
	}
	fmt.Fprintf(out, "all %d transfers are in both books or in none, and no money was lost, in spite of %d kills\n", transfers, killed)
	return nil
}
