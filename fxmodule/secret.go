package fxmodule

import "log/slog"

// Secret is a text that is read from configuration and never written: not to a log, an error, or a
// dump of the configuration.
type Secret string

const redacted = "[redacted]"

// String hides it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides it from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue hides it from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides it from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
