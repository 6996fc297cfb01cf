package protocol_test

import "strings"

// recover has the newest coordinator take over what there is.
func (p *play) recover() {
	i := len(p.seats) - 1
	if p.dead[p.seats[i]] {
		return
	}
	var gone []*leader
	for n, seat := range p.seats {
		if p.dead[seat] {
			gone = append(gone, p.leaders[n])
		}
	}
	p.leaders[i].outlive(p.seats[i], p.world.Children(root.Coordinators()), func() {
		p.bar(gone)
		for _, id := range p.world.Children(root.Transactions()) {
			p.leaders[i].adopt(p.seats[i], id)
		}
	})
}

// bar: nothing that dead coordinators have begun comes any more, but what stands.
func (p *play) bar(gone []*leader) {
	standing := p.standing()
	for _, l := range gone {
		for _, guid := range l.asked {
			p.barred[guid] = p.barred[guid] || !strings.Contains(standing, guid)
		}
	}
}

// standing are all records.
func (p *play) standing() string {
	var all strings.Builder
	for _, id := range p.world.Children(root.Transactions()) {
		all.Write(p.world.Data(root.Tx(id)))
	}
	return all.String()
}

// late complains of what came after it was known that nothing does.
func (p *play) late() {
	standing := p.standing()
	for guid, barred := range p.barred {
		if barred && strings.Contains(standing, guid) {
			panic(failure(guid + " comes late"))
		}
	}
}
