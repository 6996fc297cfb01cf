// Command available says, in one line each, which of the clients that the tests of package interop
// drive are missing here, and nothing if none is: `make` installs them or stops.
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
