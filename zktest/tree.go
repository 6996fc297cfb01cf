package zktest

// Load adds znodes to the tree, in one transaction: all of them, or, if something is wrong with
// one, none, and the error names it. The text, JSON or YAML, maps paths to znodes:
//
//	/app:
//	    data: hello
//	/app/picture:
//	    base64: iVBORw0KGgo=
//	    acl:
//	        - {perms: cdrwa, scheme: digest, id: "bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}
//	/app/jobs:
//	    sequence: 17
//	/app/locks:
//	    kind: container
//	/app/cache:
//	    kind: ttl
//	    ttl: 5m0s
//
// Every field may be left out. sequence is the number that the next sequential child gets. Parents
// that are missing are made. Data and ACLs of znodes that exist are replaced, whatever their ACLs
// say; their kind can't be.
func (s *Server) Load(text string) error { return s.inner.Load([]byte(text)) }

// Tree is the tree as YAML, in the form that [Server.Load] takes: all znodes but ephemerals, with
// data, ACLs, kinds and the counters of sequential children, without versions, zxids and times. The
// same tree always gives the same text, so that tests can compare it.
func (s *Server) Tree() (string, error) {
	text, err := s.inner.WriteTree(".yaml")
	return string(text), err
}
