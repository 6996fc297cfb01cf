package znode

import "bytes"

// Unlock is what the data of a contender that is asked to give up begin with.
const Unlock = "unlock"

// Revoked tells whether these are the data of such a contender.
func Revoked(data []byte) bool { return bytes.HasPrefix(data, []byte(Unlock)) }

// WithUnlock makes them so, with the old data behind.
func WithUnlock(data []byte) []byte { return append([]byte(Unlock+"\n"), data...) }
