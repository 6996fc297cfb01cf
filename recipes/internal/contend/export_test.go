package contend

// Watches counts the watches that the machine keeps track of.
func (m *Machine) Watches() int { return len(m.watches.all) }
