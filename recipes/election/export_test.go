package election

// Panic makes the candidate's actor panic.
func (e *Election) Panic(value any) { e.instance.Panic(value) }
