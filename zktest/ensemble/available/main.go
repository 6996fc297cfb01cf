// Command available prints in one line what tests on real ZooKeeper servers need and this machine
// lacks. It prints nothing if nothing is missing. `make` then installs it or stops.
package main

import (
	"fmt"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

func main() {
	if err := ensemble.Available(); err != nil {
		fmt.Println(err)
	}
}
