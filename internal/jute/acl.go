package jute

// Permissions of an ACL.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// ACL says what an identity may do.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// Identity is who somebody is under a scheme.
type Identity struct {
	Scheme string
	ID     string
}

// OpenACL lets everybody do everything.
func OpenACL() []ACL { return []ACL{{Perms: PermAll, Scheme: "world", ID: "anyone"}} }

func readACLs(r *Reader) []ACL {
	n := r.Count(12)
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
