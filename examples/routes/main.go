// Routes is a reverse proxy whose routing table follows a tree of znodes.
//
// # What happens
//
// The proxy (proxy.go) replaces its table with each change below /routes. An operator adds, moves
// and removes hosts, several in a transaction, while a client sends requests. Without -zk there are
// faults meanwhile. The program exits with status 0 only if each answer came from the backend that
// its host had in that revision of the routes, the client met no older table after a newer one, and
// in the end the table is what is in ZooKeeper.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const hosts, changes = 8, 200

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: three inside this program)")
	flag.Parse()
	if err := run(context.Background(), *zk); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, zk string) error {
	servers, err := zktest.New(zktest.WithServers(3)) // they end with the program
	if err != nil {
		return err
	}
	namespace := cmp.Or(zk, strings.Join(servers.Servers(), ",")) + "/troupe-routes-" + rand.Text() // below this everything is removed in the end
	s, err := session.Open(ctx, []string{namespace})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	defer s.DeleteAll(ctx, "/") //nolint:errcheck // it is only tidier
	if _, err := s.Create(ctx, routes, nil); err != nil {
		return err
	}
	p, to := new(proxy), plan{backend(), backend(), ""}
	running, stop := context.WithCancel(ctx)
	defer stop()
	all, running := errgroup.WithContext(running)
	all.Go(func() error { return p.follow(running, s) })
	all.Go(func() error { return to.operate(ctx, s) })
	for last := 0; last < changes && running.Err() == nil; {
		i := mathrand.IntN(hosts)
		revision, from := p.ask(i)
		if revision < last || from != to.of(revision, i) {
			return fmt.Errorf("%s: %q answered by revision %d, after %d", host(i), from, revision, last)
		}
		if zk == "" && revision/10 > last/10 { // no server of yours is restarted
			disturb(servers, s, revision/10)
		}
		last = revision
	}
	stop()
	if err := all.Wait(); err != nil {
		return err
	}
	for i := range hosts {
		data, _, err := s.Get(ctx, routes+"/"+host(i))
		if revision, from := p.ask(i); from != string(data) || err != nil && !errors.Is(err, session.ErrNoNode) {
			return fmt.Errorf("%s has %q in ZooKeeper, and %q in revision %d of the table: %w", host(i), data, from, revision, err)
		}
	}
	fmt.Println("each answer came from the backend of its table, and the last table is what is in ZooKeeper")
	return nil
}

// backend starts an HTTP server, which ends with the program. It answers with its address.
func backend() string {
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s.URL) })
	s.Start()
	return s.URL
}

// ask sends a request, and returns by which revision of the table it was answered, and by which
// backend.
func (p *proxy) ask(i int) (revision int, from string) {
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://"+host(i), nil))
	revision, _ = strconv.Atoi(answer.Header().Get("Revision"))
	if answer.Code == http.StatusOK {
		from = answer.Body.String()
	}
	return revision, from
}

func host(i int) string { return fmt.Sprintf("host-%d.example", i) }

// plan has the backends. The last one is none.
type plan []string

// of is the backend of a host in a revision.
func (p plan) of(revision, host int) string {
	if revision == 0 {
		return ""
	}
	return p[mathrand.New(mathrand.NewPCG(uint64(revision), uint64(host))).IntN(len(p))]
}

// operate makes all changes, each in one transaction.
func (p plan) operate(ctx context.Context, s *session.Session) error {
	for n := range changes {
		ops := []session.Op{session.SetOp(routes, nil, int32(n))} // refused if this change was made already
		for i := range hosts {
			path, was, is := routes+"/"+host(i), p.of(n, i), p.of(n+1, i)
			if was != "" {
				ops = append(ops, session.DeleteOp(path, -1))
			}
			if is != "" {
				ops = append(ops, session.CreateOp(path, []byte(is)))
			}
		}
		_, err := s.Multi(ctx, ops...)
		for errors.Is(err, session.ErrUnknownOutcome) {
			if _, err = s.Multi(ctx, ops...); errors.Is(err, session.ErrBadVersion) {
				err = nil // the first one was carried out
			}
		}
		if err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// disturb cuts the connection, ends the session, or restarts a server.
func disturb(servers *zktest.Server, s *session.Session, i int) {
	switch i % 3 {
	case 0:
		fmt.Println("the connection is cut")
		servers.Disconnect(s.Status().SessionID)
	case 1:
		fmt.Println("the session is ended")
		servers.Expire(s.Status().SessionID)
	default:
		fmt.Println("a server is restarted:", servers.Restart(i/3%3))
	}
}
