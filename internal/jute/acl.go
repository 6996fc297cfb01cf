package jute

// The permissions.
const (
	PermRead   int32 = 1 << iota // read its data, list its children
	PermWrite                    // set its data
	PermCreate                   // create children
	PermDelete                   // delete children
	PermAdmin                    // set its ACL

	PermAll = PermRead | PermWrite | PermCreate | PermDelete | PermAdmin
)

// ACL permits what Perms says to those that ID stands for in the Scheme ("world", "auth", "digest",
// "ip", "x509", …).
type ACL struct {
	Perms  int32 // permissions, or-ed together
	Scheme string
	ID     string
}

// Identity is the identity of a client under a scheme.
type Identity struct {
	Scheme string
	ID     string
}

// OpenACL lets every client do everything.
func OpenACL() []ACL { return []ACL{{Perms: PermAll, Scheme: "world", ID: "anyone"}} }

func readACLs(r *Reader) []ACL {
	n := r.Count(12) // three numbers of four bytes at least: the permissions, two lengths
	if n <= 0 {
		return nil
	}
	all := make([]ACL, 0, n)
	for range n {
		all = append(all, ACL{Perms: r.Int(), Scheme: r.Text(), ID: r.Text()})
	}
	return all
}

func writeACLs(w *Writer, all []ACL) {
	w.Int(int32(len(all)))
	for _, a := range all {
		w.Int(a.Perms)
		w.Text(a.Scheme)
		w.Text(a.ID)
	}
}
