package recipetest

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// Words are the rest of a story's line, behind its verb: #number of the request that is answered,
// plain words, key=value.
type Words struct {
	Ask   uint64 // 0: to the last request of the kind
	Plain []string
	value map[string]string
}

func parse(words []string) Words {
	w := Words{value: map[string]string{}}
	for _, word := range words {
		key, value, pair := strings.Cut(word, "=")
		number, numbered := strings.CutPrefix(word, "#")
		switch {
		case numbered:
			w.Ask, _ = strconv.ParseUint(number, 10, 64)
		case pair && key == "ask":
			w.Ask, _ = strconv.ParseUint(value, 10, 64)
		case pair:
			w.value[key] = value
		default:
			w.Plain = append(w.Plain, word)
		}
	}
	return w
}

// First is the first plain word, "" if there is none.
func (w Words) First() string {
	if len(w.Plain) == 0 {
		return ""
	}
	return w.Plain[0]
}

// Has tells whether a plain word is there.
func (w Words) Has(word string) bool { return slices.Contains(w.Plain, word) }

// Value is that of a key.
func (w Words) Value(key string) (string, bool) {
	v, ok := w.value[key]
	return v, ok
}

// Number is the value of a key.
func (w Words) Number(key string, otherwise int64) int64 {
	if v, ok := w.value[key]; ok {
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return otherwise
}

// Err is the value of err, nil if there is none.
func (w Words) Err() error {
	switch e := w.value["err"]; e {
	case "":
		return nil
	case "held":
		return machine.ErrHeld
	default:
		return errors.New(e)
	}
}

// Claim is the first word's number.
func (w Words) Claim() machine.Claim {
	n, _ := strconv.ParseUint(w.First(), 10, 64)
	return machine.Claim(n)
}
