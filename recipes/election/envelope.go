package election

import (
	"bytes"
	"encoding/json"

	"github.com/troupe-go/troupe/internal/znode"
)

// envelope is what a candidate's znode contains, as JSON, so that anybody can read it.
type envelope struct {
	ID    string `json:"id"`
	Data  []byte `json:"data,omitempty"`
	Ready bool   `json:"ready"`

	revoked bool // somebody wrote the word for "give up" in front; it is his to take away
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

// interpret is decode for whatever a candidate may have written: the data of a stranger are taken
// for his name, as Curator's latch writes it.
func interpret(raw []byte) envelope {
	if e, ok := decode(raw); ok {
		return e
	}
	return envelope{ID: string(raw)}
}

func (e envelope) encode() ([]byte, error) {
	raw, err := json.Marshal(e)
	if err == nil && e.revoked {
		raw = znode.WithUnlock(raw)
	}
	return raw, err
}
