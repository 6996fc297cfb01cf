package interop_test

import (
	"testing"

	"github.com/troupe-go/troupe/internal/tier"
)

// Each client plays its script on both servers and gets the same answers and events.
func TestClientsPlayTheSameOnBothServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	for _, c := range []struct {
		script, client string
		driver         *shared
	}{
		{"java", "zookeeper", javaDriver},
		{"curator", "curator", javaDriver},
		{"kazoo", "kazoo", kazooDriver},
		{"c", "c", cDriver},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			d := c.driver.get(t)
			onEmpty(t, func(t *testing.T, address string) { playScript(t, d, c.client, c.script, address) })
		})
	}
}
