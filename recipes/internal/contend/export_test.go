package contend

// What tests may see of a machine.

// Watches counts the watches that the machine keeps track of.
func (m *Machine) Watches() int { return len(m.watches.all) }
