package znode

import "encoding/json"

// HeldRecord is the name of a [Record]: beside the contenders, and no contender's.
const HeldRecord = "held"

// Record is what a holder with a delay writes beside the contenders when it is granted. If it does
// not give up what it held the record stays, and whoever waits for the delay then adds that it
// does.
type Record struct {
	Token int64    `json:"token"`           // of the holder; 0: the data make no sense
	By    Identity `json:"by,omitzero"`     // whose it is
	Waits int64    `json:"waits,omitempty"` // Czxid of the contender that waits, since the record was changed last
	Delay int64    `json:"delay,omitempty"` // for how long it does, in milliseconds
}

// ParseRecord reads what Bytes has written. Anything else is the zero value.
func ParseRecord(data []byte) (r Record) {
	if json.Unmarshal(data, &r) != nil {
		return Record{}
	}
	r.By = ParseIdentity(r.By.JSON())
	return r
}

// Bytes is the data of the record.
func (r Record) Bytes() []byte {
	data, _ := json.Marshal(r) //nolint:errchkjson // texts and numbers
	return data
}
