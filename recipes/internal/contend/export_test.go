package contend

// What tests may see of a machine.

// Watches counts the watches that the machine keeps track of.
func (m *Machine) Watches() int { return len(m.watches.all) }

// Known is what decides whether it may hold or wait: what is known of those ahead, and how it is
// known that the own znode exists.
func (m *Machine) Known() (ahead, proof string) {
	return [...]string{"unknown", "some", "only", "none", "released", "marked"}[m.ahead], [...]string{"unproven", "told", "watched"}[m.proof()]
}
