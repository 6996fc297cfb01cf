package ensemble_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

// abandonedEnv makes the test binary a process that starts a server and is killed, see
// TestNothingIsLeftOfAKilledProcess.
const abandonedEnv = "TROUPE_TEST_ABANDON_ENSEMBLE"

func TestMain(m *testing.M) {
	if os.Getenv(abandonedEnv) != "" {
		servers, err := ensemble.New(1)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(servers.Pid(0), servers.Root())
		select {}
	}
	goleak.VerifyTestMain(m)
}
