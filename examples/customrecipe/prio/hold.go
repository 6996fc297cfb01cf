package prio

import (
	"bytes"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// take adds its own znode to the live holders, if the state has not changed since it was read.
func (m *lockMachine) take(holders []contender) {
	m.phase = taking
	var names []string
	for _, c := range holders {
		names = append(names, c.name)
	}
	names = append(names, m.self)
	m.requests.Ask(machine.Transact{Ops: []machine.Op{
		{Do: machine.Set, Path: m.path(), Data: []byte(held), Version: machine.Any},
		{Do: machine.Set, Path: m.state, Data: []byte(strings.Join(names, "\n")), Version: m.look.version},
	}}, joining)
}

// onTaken handles the reply to take: this contender is a holder now, or the state has changed. If
// the reply was lost, a read tells.
func (m *lockMachine) onTaken(ev machine.Transacted) {
	switch {
	case m.given: // withdrawn meanwhile
		m.remove()
	case ev.Code == machine.Done:
		m.hold(ev.Results[0].Stat.Mzxid)
	case ev.Code == machine.Refused:
		m.fail(ev.Err)
	default:
		m.lookAgain()
	}
}

// hold requests the possession. Taking it wrote the contender's own znode, so the watch on it has
// fired or will fire; readOwn sets a new one.
func (m *lockMachine) hold(token int64) {
	m.phase = holding
	m.requests.Emit(granted{Epoch: m.requests.Epoch(), Claim: m.claim.Claim, Path: m.path(), Token: token})
	m.readOwn()
}

func (m *lockMachine) readOwn() {
	m.requests.Ask(machine.Read{Path: m.path(), Watch: true}, readingOwn)
}

// onOwn handles a read of the contender's own znode while it holds.
func (m *lockMachine) onOwn(ev machine.Seen) {
	switch {
	case ev.Code != machine.Done: // no longer allowed to read it; Commit still checks that it exists
	case !ev.Exists:
		m.lose()
	case bytes.HasPrefix(ev.Data, []byte(revoke)):
		m.requests.Emit(revoked{m.claim.Claim})
	}
}

// lose ends a possession whose znode was deleted by another client.
func (m *lockMachine) lose() {
	m.requests.Emit(ended{m.claim.Claim})
	m.over()
}
