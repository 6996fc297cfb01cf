// Package enum names the values of enumerations.
package enum

import "fmt"

// Name is the name of a value; the first value is 0. A value without one is "Kind(7)".
func Name[T ~int](kind string, value T, names ...string) string {
	if value < 0 || int(value) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, int(value))
	}
	return names[value]
}
