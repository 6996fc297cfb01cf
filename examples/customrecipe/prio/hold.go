package prio

import (
	"bytes"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// take adds its own name to those of the live holders, if the state has not changed since it was
// read.
func (m *lockMachine) take(holders []contender) []machine.Effect {
	m.phase = taking
	var names []string
	for _, c := range holders {
		names = append(names, c.name)
	}
	names = append(names, m.own)
	return []machine.Effect{machine.Transact{Epoch: m.epoch, Ask: m.ask(), Ops: []machine.Op{
		{Do: machine.Set, Path: m.line + "/" + m.own, Data: []byte(held), Version: machine.Any},
		{Do: machine.Set, Path: m.state, Data: []byte(strings.Join(names, "\n")), Version: m.look.version},
	}}}
}

// onTaken: this is now a holder, or the state has changed. If the answer was lost, a read tells.
func (m *lockMachine) onTaken(ev machine.Transacted) []machine.Effect {
	switch {
	case m.given: // withdrawn meanwhile
		return m.remove()
	case ev.Code == machine.Done:
		return m.hold(ev.Results[0].Stat.Mzxid)
	case ev.Code == machine.Refused:
		return m.fail(ev.Err)
	}
	return m.lookAgain()
}

// hold has a possession made. The own znode was written when it was taken, so its watch has fired,
// or will: it is armed anew.
func (m *lockMachine) hold(token int64) []machine.Effect {
	m.phase = holding
	return []machine.Effect{
		granted{Epoch: m.epoch, Claim: m.claim.Claim, Path: m.line + "/" + m.own, Token: token},
		m.readOwn(),
	}
}

func (m *lockMachine) readOwn() machine.Effect {
	return machine.Read{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + m.own, Watch: true}
}

// onOwn: the own znode, while it holds.
func (m *lockMachine) onOwn(ev machine.Seen) []machine.Effect {
	switch {
	case ev.Code != machine.Done:
		return nil // the right to read it was taken away: its end is still told by the guard of whatever is committed
	case !ev.Exists:
		return m.lose()
	case bytes.HasPrefix(ev.Data, []byte(revoke)):
		return []machine.Effect{revoked{m.claim.Claim}}
	}
	return nil
}

// lose: somebody has deleted the znode of the possession.
func (m *lockMachine) lose() []machine.Effect {
	lost := ended{m.claim.Claim}
	return append([]machine.Effect{lost}, m.over()...)
}
