package main

import (
	"context"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/troupe-go/troupe/session"
)

// routes has a child for each host, whose data is the URL of its backend. Whoever changes routes
// sets the data of this znode too, so that its version is the number of changes.
const routes = "/routes"

// table is where requests go. It never changes: a newer one replaces it.
type table struct {
	revision int32               // the version of routes
	backends map[string]*url.URL // by host
}

// proxy forwards each request to the backend that the newest table has for its host.
type proxy struct{ newest atomic.Pointer[table] }

// follow replaces the table with each change in ZooKeeper, until ctx or the session ends. While the
// connection is down the last table stays: old routes are better than none.
func (p *proxy) follow(ctx context.Context, s *session.Session) error {
	for tree := range s.WatchTree(ctx, routes, session.WithDepth(1)) {
		switch {
		case tree.Err != nil:
			return tree.Err
		case tree.Zxid != 0: // without it, the tree may have a part of a transaction
			p.newest.Store(tableOf(tree))
		}
	}
	return s.Err() // nil if it was ctx
}

func tableOf(tree *session.Tree) *table {
	root, _ := tree.At("")
	t := &table{root.Stat.Version, map[string]*url.URL{}}
	for host, n := range tree.Below("") {
		backend, err := url.Parse(string(n.Data))
		if n.Unread != nil || err != nil || backend.Host == "" { // of one bad znode the other hosts see nothing
			log.Printf("%s has no backend: %q %v", host, n.Data, n.Unread)
			continue
		}
		t.backends[host] = backend
	}
	return t
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t := p.newest.Load() // once: a request has one table from beginning to end
	if t == nil {
		http.Error(w, "the routes are not known yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Revision", strconv.Itoa(int(t.revision)))
	backend := t.backends[r.Host]
	if backend == nil {
		http.NotFound(w, r)
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(backend) }}).ServeHTTP(w, r)
}
