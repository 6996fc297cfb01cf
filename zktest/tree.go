package zktest

// Load adds znodes to the tree in one transaction: all of them, or none, with an error that names
// the wrong one. The text is JSON Lines, a znode a line:
//
//	{"path":"/app","data":"hello"}
//	{"path":"/app/picture","base64":"iVBORw0KGgo=","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}]}
//	{"path":"/app/jobs","sequence":17}
//	{"path":"/app/locks","kind":"container"}
//	{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
//
// Every field but the path is optional. sequence is the number of the next sequential child.
// Missing parents are created. The data and ACLs of existing znodes are replaced, whatever their
// ACLs allow; their kinds cannot be changed.
func (s *Server) Load(text string) error { return s.inner.Load([]byte(text)) }

// Tree returns the tree as JSON Lines, in the form that [Server.Load] reads: all znodes except
// ephemerals, with data, ACLs, kinds and the counters of sequential children, but without versions,
// zxids and times. The same tree always has the same text, so tests can compare it.
func (s *Server) Tree() (string, error) { return s.inner.Tree() }
