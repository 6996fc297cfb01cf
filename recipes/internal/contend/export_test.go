package contend

// What tests may see of a machine.

// Watches counts the watches that the machine keeps track of.
func (m *Machine) Watches() int { return len(m.watches.all) }

// Known is what decides whether it may hold or wait: what is known of those ahead, and how it is
// known that the own znode exists.
func (m *Machine) Known() (known, how string) {
	names := map[ahead]string{unknown: "unknown", some: "some", only: "only", none: "none", released: "released", marked: "marked"}
	proofs := map[proof]string{unproven: "unproven", told: "told", watched: "watched"}
	return names[m.ahead], proofs[m.proof()]
}
