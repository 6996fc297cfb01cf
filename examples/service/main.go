// Service is an HTTP service that runs as any number of processes: letters are put into a queue and
// sent by the workers of all processes; one process at a time, the leader, adds a reminder each
// minute; the settings of all are changed while they run.
//
//	go run ./examples/service                  # on a ZooKeeper server inside this program
//	go run ./examples/service -zk zk1:2181     # as many processes as you like, each with its own -http and -debug
//
//	curl -d 'Ann, all is well.' localhost:8080/letters
//	curl -T - localhost:8080/settings <<< '{"greeting": "Hello", "level": "DEBUG"}'
//	curl localhost:8080/ready
//	curl localhost:6060/metrics
//	xdg-open http://localhost:6060/debug/troupe/
//
// It runs until it is interrupted, and then finishes the work in hand. service.go has the parts,
// letters.go their functions, http.go the server; service_test.go shows it under faults.
package main

import (
	"flag"
	"strings"
	"time"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	_ "github.com/troupe-go/troupe/fxmodule/embedded" // for Config.Embedded
	"github.com/troupe-go/troupe/session"
)

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	address := flag.String("http", "127.0.0.1:8080", "the `address` to listen on")
	debug := flag.String("debug", "127.0.0.1:6060", "the `address` of the page and of metrics, for operators alone; \"\" for none")
	name := flag.String("name", "", "the `name` of this process in znodes, such as its pod's (default: only its host)")
	flag.Parse()
	cfg := fxmodule.Config{Embedded: true}
	if *zk != "" {
		cfg = fxmodule.Default(strings.Split(*zk, ",")...)
		cfg.Namespace = "/service"
	}
	identity := fx.Options()
	if *name != "" {
		identity = fxmodule.Options(session.WithIdentity(*name))
	}
	// An orchestrator has to wait for longer than the stop: see docs/kubernetes.md.
	app := fx.New(serving(*address, *debug, service(cfg)), identity, fx.StopTimeout(15*time.Second))
	app.Done() // from now on a signal ends it in order; fx would listen only once all has started
	app.Run()  // with status 1 if it can't start or go on
}
