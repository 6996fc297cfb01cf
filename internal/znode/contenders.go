package znode

import "slices"

// Contenders is the contenders among the names of a listing. Several machines may have the same
// one, so nobody changes it.
type Contenders struct {
	Contenders []Contender // by their sequence numbers
	Ambiguous  bool        // which leave the order of creation open: they may have wrapped around, stuck or repeated
}

// NewContenders takes the names apart.
func NewContenders(names []string) *Contenders {
	l := &Contenders{Contenders: make([]Contender, 0, len(names))}
	for _, name := range names {
		if c, ok := ParseContender(name); ok {
			l.Contenders = append(l.Contenders, c)
		}
	}
	slices.SortFunc(l.Contenders, func(a, b Contender) int { return CompareSeq(a.Seq, b.Seq) })
	for i, c := range l.Contenders {
		l.Ambiguous = l.Ambiguous || NeedsCzxid(c.Seq) || i > 0 && c.Seq == l.Contenders[i-1].Seq
	}
	return l
}
