package znode

import "bytes"

// Unlock is what the data of a contender that is asked to give up begin with.
const Unlock = "unlock"

// Revoked tells whether these are the data of such a contender.
func Revoked(data []byte) bool { return bytes.HasPrefix(data, []byte(Unlock)) }

// WithUnlock returns the data that ask for it, with the old data behind, in a slice of its own.
func WithUnlock(data []byte) []byte { return append([]byte(Unlock+"\n"), data...) }
