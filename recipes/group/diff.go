package group

import "bytes"

// Change is the difference between two views, each part sorted by id.
type Change struct {
	Joined  []Member // only in the new view; or registered again since
	Left    []Member // only in the old view; or registered again since: as they were
	Updated []Member // the same registration, with other data; or Unread in one of the views
}

// Diff returns the changes from one view to another. A member that has registered again in between
// has left and joined.
func Diff(old, next View) Change {
	var c Change
	before := make(map[string]Member, len(old.Members))
	for _, m := range old.Members {
		before[m.ID] = m
	}
	now := make(map[string]Member, len(next.Members))
	for _, m := range next.Members {
		now[m.ID] = m
		was, there := before[m.ID]
		switch {
		case !there || rejoined(was, m):
			c.Joined = append(c.Joined, m)
		case was.Unread != m.Unread || !bytes.Equal(was.Data, m.Data):
			c.Updated = append(c.Updated, m)
		}
	}
	for _, m := range old.Members {
		if is, there := now[m.ID]; !there || rejoined(m, is) {
			c.Left = append(c.Left, m)
		}
	}
	return c
}

// rejoined tells whether it is another registration, as far as that is known.
func rejoined(was, is Member) bool { return !was.Unread && !is.Unread && was.Token != is.Token }
