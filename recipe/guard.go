package recipe

import (
	"fmt"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Guard puts a transaction of a machine under a possession of the session, with checks among its
// operations that the face passes to the machine with the wish. It is not sent any more once the
// possession is over, and not carried out once that is lost: the answer is machine.NoNode, with the
// index of one of the checks; the possession is over by then, and has its Err. Error:
// session.ErrUnsupported if it, or a part of it, belongs to another session.
func Guard(s *session.Session, hold *session.Hold) ([]machine.Op, error) {
	var checks []machine.Op
	for part := range session.HoldsFrom(hold.Context()) {
		if part.Session() != s {
			return nil, fmt.Errorf("%w: the possession belongs to another session", session.ErrUnsupported)
		}
		checks = append(checks, machine.Op{Do: machine.Check, Path: part.Path(), Version: machine.Any, Under: hold})
	}
	return checks, nil
}
