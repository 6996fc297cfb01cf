// Command available says in one line what tests on real ZooKeeper servers lack here, and nothing if
// they lack nothing: `make` installs it or stops.
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
