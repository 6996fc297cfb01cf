// Package sentinel has errors that are constants. A public package that has those of an internal
// one needs no code at its start for that, and so is not linked into a program that uses nothing
// else of it.
package sentinel

// ConstError is an error that errors.Is finds by its text.
type ConstError string

func (e ConstError) Error() string { return string(e) }
