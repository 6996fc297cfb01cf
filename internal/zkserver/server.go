package zkserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

// ErrClosed is returned by what needs a server that is still open.
var ErrClosed = errors.New("the server is closed")

// ErrTree is wrapped by the error of New if Config.Tree can't be loaded.
var ErrTree = errors.New("the tree to begin with")

// Server is an in-process ZooKeeper. Its lock, mu, owns all state below: see the package comment.
type Server struct {
	cfg     Config
	dialect dialect // what the version does

	mu      sync.Mutex
	started time.Time        // of the expiry clock: ticks are counted from here
	skipped time.Duration    // by which the clocks are ahead: see FastForward
	first   []treefile.Znode // Config.Tree
	// What the leader knows.
	tree     *tree.Tree // as of the last transaction
	zxid     int64      // of the last transaction
	sessions map[int64]*session
	nextID   int64 // of the next session
	expiry   expiry
	reaper   *time.Timer // for containers and TTLs: the last one; nil: there were none
	check    int64       // of them, that the timer waits for; 0: none
	waiters  []*waiter
	closed   bool
	// The servers, and which of them leads.
	fronts   []*Front
	quorum   quorum
	terms    int           // how often a front was elected
	required jute.Identity // of clients: see RequireAuth
	tls      *tls.Config   // of new connections; nil: they are plain
	// Faults, and what tests see.
	rules         []*rule // interceptors
	cuts          []*cut  // partitions, oldest first
	slow          []*slowdown
	replaced      map[int64]bool // sessions whose clients get new ones: see Replace
	handshakeCost time.Duration  // see SlowHandshakes
	journal       journal
	rng           *rand.Rand // of random moments: see Config.Seed
	// Counted since the start.
	accepted, requests, fired int64 // connections, requests, watch events
	dialed                    int64 // connections in memory; the next one's port comes from it

	closing chan struct{}  // closed with the server
	work    sync.WaitGroup // every goroutine of the server
}

// New makes a server. It listens only at Config.Addresses; without them it uses no goroutine and no
// socket until a client connects or Listen is called.
func New(cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	dialect, err := dialectOf(cfg.Version)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:      cfg,
		dialect:  dialect,
		started:  time.Now(),
		tree:     tree.New(),
		zxid:     cfg.FirstZxid,
		sessions: make(map[int64]*session),
		replaced: make(map[int64]bool),
		closing:  make(chan struct{}),
		rng:      rand.New(rand.NewPCG(cfg.Seed, 0)),
	}
	s.nextID = firstSessionID(s.started)
	s.journal.limit, s.journal.maxBytes = cfg.Journal, cfg.JournalBytes
	for i := range cfg.Fronts {
		s.fronts = append(s.fronts, newFront(s, i))
	}
	s.install()
	if cfg.Tree != nil {
		if s.first, err = treefile.Read(cfg.Tree); err == nil {
			err = Admin{s}.load(s.first)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrTree, err), s.Close())
		}
	}
	for i, address := range cfg.Addresses {
		if _, err := s.fronts[i].Listen(context.Background(), address); err != nil { // binding doesn't wait
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Front is one of the servers that share the tree, numbered from 0; nil if there is no such front.
func (s *Server) Front(i int) *Front {
	if i < 0 || i >= len(s.fronts) {
		return nil
	}
	return s.fronts[i]
}

// Seed is Config.Seed, or the one that was drawn since that was 0.
func (s *Server) Seed() uint64 { return s.cfg.Seed }

// Fronts is the number of servers that share the tree.
func (s *Server) Fronts() int { return len(s.fronts) }

// Close drops all connections and waits until every goroutine of the server has ended. It may be
// called more than once.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
		s.expiry.stop()
		s.breakOff()
		if s.reaper != nil {
			s.reaper.Stop()
		}
		for _, f := range s.fronts {
			f.shut()
		}
	}
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

// after calls do with the lock held, after a time. After Close it does nothing.
func (s *Server) after(wait time.Duration, do func()) *time.Timer {
	// Runs on the timer's own goroutine and ends at once.
	return time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			do()
		}
	})
}

// now is the wall clock as the tree shows it, in milliseconds.
func (s *Server) now() int64 { return time.Now().Add(s.skipped).UnixMilli() }
