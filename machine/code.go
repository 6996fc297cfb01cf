package machine

// Code is how a request ended, as far as machines decide by it.
type Code int

// How a request ends.
const (
	Done       Code = iota // carried out
	NoNode                 // definite, nothing was done: the znode, or the parent of one to be created, does not exist
	NodeExists             // definite: the znode to be created exists
	BadVersion             // definite: the znode has another version
	NotEmpty               // definite: the znode to be deleted has children
	Unknown                // the answer was lost; a read now tells whether it was carried out
	Refused                // definite, and none of these: Err says what
)

var codes = [...]string{
	Done: "done", NoNode: "no node", NodeExists: "node exists", BadVersion: "bad version", NotEmpty: "not empty",
	Unknown: "unknown", Refused: "refused",
}

// String names the code as the golden traces show it.
func (c Code) String() string {
	if c < 0 || int(c) >= len(codes) {
		return "no code"
	}
	return codes[c]
}
