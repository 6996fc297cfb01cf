package fxmodule

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that configuration writes as text, "10s", in YAML, JSON and the
// environment alike.
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration such as 10s", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is that of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }
