package election

import (
	"bytes"
	"encoding/json"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// envelope is the contents of a candidate's znode, as JSON, so that any client can read it.
type envelope struct {
	ID    string `json:"id"`
	Data  []byte `json:"data,omitempty"`
	Ready bool   `json:"ready"`

	By json.RawMessage `json:"by,omitempty"` // whose it is: see znode.Identity

	revoked bool // another client wrote the marker of a revocation in front; it stays
}

// decode reads an envelope; false for data of another kind.
func decode(raw []byte) (envelope, bool) {
	var e struct {
		envelope
		ID *string `json:"id"`
	}
	body, revoked := bytes.CutPrefix(raw, []byte(znode.Unlock+"\n"))
	if json.Unmarshal(body, &e) != nil || e.ID == nil {
		return envelope{}, false
	}
	e.envelope.ID, e.revoked = *e.ID, revoked
	return e.envelope, true
}

// interpret decodes whatever a candidate may have written: data that are no envelope are the ID, as
// in Curator's latch.
func interpret(raw []byte) envelope {
	if e, ok := decode(raw); ok {
		return e
	}
	return envelope{ID: string(raw)}
}

func (e envelope) owner() session.Identity { return znode.ParseIdentity(e.By) }

func (e envelope) encode() ([]byte, error) {
	raw, err := json.Marshal(e)
	if err == nil && e.revoked {
		raw = znode.WithUnlock(raw)
	}
	return raw, err
}
