// Command available prints a line for each client that the tests of package interop drive and that
// is missing here, with the package that has it. It prints nothing if none is missing.
package main

import (
	"fmt"

	"github.com/troupe-go/troupe/interop"
)

func main() {
	for _, line := range interop.Missing() {
		fmt.Println(line)
	}
}
