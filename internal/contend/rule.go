package contend

import "github.com/troupe-go/troupe/internal/znode"

// Rule says who has to wait for whom.
type Rule interface {
	// Before picks, from those that stand before own (first to last), the ones that own has to wait
	// for, in the same order. None: it is own's turn. The last one picked is watched.
	Before(own znode.Contender, ahead []znode.Contender) []znode.Contender

	// Remains tells whether the end of the one that own waits for may leave something in its place
	// that own would have to wait for too. If not, and if it was the only one, it is own's turn
	// when it goes, without another look.
	Remains(own, last znode.Contender) bool
}

// Exclusive is the rule of exclusive locks and elections: everybody waits for everybody ahead.
func Exclusive() Rule { return exclusive{} }

type exclusive struct{}

func (exclusive) Before(_ znode.Contender, ahead []znode.Contender) []znode.Contender { return ahead }

func (exclusive) Remains(_, last znode.Contender) bool { return last.Downgrades() }
