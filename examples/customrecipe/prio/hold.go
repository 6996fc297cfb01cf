package prio

import (
	"bytes"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// take adds its own znode to the live holders, if the state has not changed since it was read.
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

// onTaken handles the reply to take: this contender is a holder now, or the state has changed. If
// the reply was lost, a read tells.
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

// hold requests the possession. Taking it wrote the contender's own znode, so the watch on it has
// fired or will fire; readOwn sets a new one.
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

// onOwn handles a read of the contender's own znode while it holds.
func (m *lockMachine) onOwn(ev machine.Seen) []machine.Effect {
	switch {
	case ev.Code != machine.Done:
		return nil // no longer allowed to read it; Commit still checks that it exists
	case !ev.Exists:
		return m.lose()
	case bytes.HasPrefix(ev.Data, []byte(revoke)):
		return []machine.Effect{revoked{m.claim.Claim}}
	}
	return nil
}

// lose ends a possession whose znode was deleted by another client.
func (m *lockMachine) lose() []machine.Effect {
	lost := ended{m.claim.Claim}
	return append([]machine.Effect{lost}, m.over()...)
}
