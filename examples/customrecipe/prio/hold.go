package prio

import (
	"bytes"
	"strings"

	"github.com/troupe-go/troupe/recipe"
)

// take adds its own name to those of the live holders, if the state has not changed since it was
// read.
func (m *machine) take(holders []contender) []recipe.Effect {
	m.phase = taking
	var names []string
	for _, c := range holders {
		names = append(names, c.name)
	}
	names = append(names, m.own)
	return []recipe.Effect{recipe.Transact{Epoch: m.epoch, Ask: m.ask(), Ops: []recipe.Op{
		{Do: recipe.Set, Path: m.line + "/" + m.own, Data: []byte(held), Version: recipe.Any},
		{Do: recipe.Set, Path: m.state, Data: []byte(strings.Join(names, "\n")), Version: m.look.version},
	}}}
}

// onTaken: this is now a holder, or the state has changed. If the answer was lost, a read tells.
func (m *machine) onTaken(ev recipe.Transacted) []recipe.Effect {
	switch {
	case m.given: // withdrawn meanwhile
		return m.remove()
	case ev.Code == recipe.Done:
		return m.hold(ev.Results[0].Stat.Mzxid)
	case ev.Code == recipe.Refused:
		return m.fail(ev.Err)
	}
	return m.lookAgain()
}

// hold has a possession made. The own znode was written when it was taken, so its watch has fired,
// or will: it is armed anew.
func (m *machine) hold(token int64) []recipe.Effect {
	m.phase = holding
	return []recipe.Effect{
		granted{Epoch: m.epoch, Claim: m.claim.Claim, Path: m.line + "/" + m.own, Token: token},
		m.readOwn(),
	}
}

func (m *machine) readOwn() recipe.Effect {
	return recipe.Read{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + m.own, Watch: true}
}

// onOwn: the own znode, while it holds.
func (m *machine) onOwn(ev recipe.Seen) []recipe.Effect {
	switch {
	case ev.Code != recipe.Done:
		return nil // the right to read it was taken away: its end is still told by the guard of whatever is committed
	case !ev.Exists:
		return m.lose()
	case bytes.HasPrefix(ev.Data, []byte(revoke)):
		return []recipe.Effect{revoked{m.claim.Claim}}
	}
	return nil
}

// lose: somebody has deleted the znode of the possession.
func (m *machine) lose() []recipe.Effect {
	lost := ended{m.claim.Claim}
	return append([]recipe.Effect{lost}, m.over()...)
}
