package ensemble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

// maxServers keeps the plan of addresses within one /24.
const maxServers = 9

const (
	clientPort   = 2181
	quorumPort   = 2888
	electionPort = 3888
	claimPort    = 2180
)

// plan says who listens where, and how each server sees the others.
type plan struct {
	hosts  []string   // the address that server i listens on
	client []int      // its ports
	peers  [][]string // peers[k][i]: server i as in the zoo.cfg of server k, host:quorum:election
	names  []string   // names[k]: the hosts file of server k's virtual machine, "" if names are addresses
	links  []link     // the proxies between servers
	claim  net.Listener
}

// link is one way from one server to another: server `from` dials `listen` when it means `target`.
type link struct {
	from, to       int
	listen, target string
	announce       string // for election ports: where `to` reaches `from`, see announcing
}

func (p *plan) clientAddr(i int) string {
	return net.JoinHostPort(p.hosts[i], strconv.Itoa(p.client[i]))
}

func (p *plan) release() {
	if p.claim != nil {
		_ = p.claim.Close() // it only kept other processes away
	}
}

func newPlan(n int, portsOnly bool) (*plan, error) {
	if !portsOnly {
		if p := planNetwork(n); p != nil {
			return p, nil
		}
	}
	return planPorts(n)
}

// planNetwork gives the ensemble a /24 of its own within 127.0.0.0/8, which is loopback on Linux:
// server i has an address of its own with ZooKeeper's usual ports, and for each pair (k, i) there
// is one more address at which a proxy stands in for i, at the same ports. Each server's virtual
// machine has a hosts file of its own that leads the others' names to its own proxies, so that all
// have the same configuration: they send it to one another. Nil if the system has no such
// addresses.
func planNetwork(n int) *plan {
	for range 20 {
		subnet := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(255))
		claim, err := net.Listen("tcp", net.JoinHostPort(subnet+"254", strconv.Itoa(claimPort)))
		if err != nil {
			continue
		}
		return subnetPlan(n, subnet, claim)
	}
	return nil
}

func subnetPlan(n int, subnet string, claim net.Listener) *plan {
	p := &plan{claim: claim}
	for k := range n {
		p.hosts = append(p.hosts, subnet+strconv.Itoa(k+1))
		p.client = append(p.client, clientPort)
		p.peers = append(p.peers, nil)
		var names strings.Builder
		names.WriteString("127.0.0.1 localhost\n")
		for i := range n {
			name, seen := fmt.Sprintf("zk%d", i+1), subnet+strconv.Itoa(i+1)
			if i != k {
				target := seen
				seen = standIn(subnet, k, i)
				quorum, election := strconv.Itoa(quorumPort), strconv.Itoa(electionPort)
				p.links = append(p.links,
					link{from: k, to: i, listen: net.JoinHostPort(seen, quorum), target: net.JoinHostPort(target, quorum)},
					link{
						from: k, to: i, listen: net.JoinHostPort(seen, election), target: net.JoinHostPort(target, election),
						announce: net.JoinHostPort(standIn(subnet, i, k), election),
					})
			}
			fmt.Fprintf(&names, "%s %s\n", seen, name)
			p.peers[k] = append(p.peers[k], fmt.Sprintf("%s:%d:%d", name, quorumPort, electionPort))
		}
		p.names = append(p.names, names.String())
	}
	return p
}

// standIn is the address at which a proxy stands in for server i, as server k sees it.
func standIn(subnet string, k, i int) string { return subnet + strconv.Itoa(20+10*k+i) }

// planPorts makes do with 127.0.0.1: the peers' quorum ports lead through proxies, election ports
// are direct, because a server's own election address travels in the election handshake. Ports are
// free when they are chosen.
func planPorts(n int) (*plan, error) {
	const host = "127.0.0.1"
	ports, err := freePorts(host, 3*n+n*(n-1))
	if err != nil {
		return nil, err
	}
	take := func() int { port := ports[0]; ports = ports[1:]; return port }
	p := &plan{}
	quorum, election := make([]int, n), make([]int, n)
	for i := range n {
		p.hosts, p.names = append(p.hosts, host), append(p.names, "")
		p.client, p.peers = append(p.client, take()), append(p.peers, nil)
		quorum[i], election[i] = take(), take()
	}
	for k := range n {
		for i := range n {
			seen := quorum[i]
			if i != k {
				seen = take()
				p.links = append(p.links, link{from: k, to: i, listen: net.JoinHostPort(host, strconv.Itoa(seen)), target: net.JoinHostPort(host, strconv.Itoa(quorum[i]))})
			}
			p.peers[k] = append(p.peers[k], fmt.Sprintf("%s:%d:%d", host, seen, election[i]))
		}
	}
	return p, nil
}

func freePorts(host string, n int) ([]int, error) {
	var ports []int
	var errs []error
	var open []net.Listener // all at once, so that no port is found twice
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			errs = append(errs, err)
			break
		}
		open = append(open, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range open {
		errs = append(errs, l.Close())
	}
	return ports, errors.Join(errs...)
}
