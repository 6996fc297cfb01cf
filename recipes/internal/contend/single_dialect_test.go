package contend_test

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe/recipetest"
	"github.com/troupe-go/troupe/recipes/internal/contend"
)

const singlePath = "/controller"

func singleSubject() recipetest.Subject {
	m := contend.NewSingle(singlePath)
	return recipetest.Subject{Machine: m, State: func() string { return m.State().String() }}
}

// singles: there is one znode, which is not named.
var singles = recipetest.Dialect{
	Folder: "single",
	New:    func([]string) recipetest.Subject { return singleSubject() },
	Path:   func(string) string { return singlePath },
	Show:   singleShow,
}

func singleShow(e machine.Effect) string {
	switch e := e.(type) {
	case machine.Enter:
		return fmt.Sprintf("enter #%d", e.Ask)
	case machine.Read:
		return fmt.Sprintf("read #%d and watch", e.Ask)
	case machine.Unwatch:
		return "unwatch"
	case machine.Remove:
		return "leave"
	case machine.Grant:
		return fmt.Sprintf("grant %d token=%d", e.Claim, e.Token)
	case machine.End:
		causes := map[machine.Cause]string{machine.EndDeleted: "deleted", machine.EndExpired: "expired", machine.EndUnwatched: "unwatched"}
		return strings.TrimRight(fmt.Sprintf("end %d %s %v", e.Claim, causes[e.Cause], orNothing(e.Err)), " ")
	case machine.Settle:
		return strings.TrimRight(fmt.Sprintf("settle %d %v", e.Claim, orNothing(e.Err)), " ")
	}
	return ""
}

func orNothing(err error) any {
	if err == nil {
		return ""
	}
	return err
}
