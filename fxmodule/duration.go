package fxmodule

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that is written as text, "10s", in YAML, JSON and the environment.
type Duration time.Duration

// UnmarshalText parses the text with time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 10s", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText formats it like time.Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String formats it like time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }
