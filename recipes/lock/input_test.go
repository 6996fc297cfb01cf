// What each constructor refuses, at once and without a request, and what it says then.

package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// all are the constructors.
var all = map[string]func(*session.Session, string, ...lock.Option) (*lock.Lock, error){
	"lock.New": lock.New, "lock.NewRead": lock.NewRead, "lock.NewWrite": lock.NewWrite, "lock.NewSemaphore": ofThree,
}

func ofThree(s *session.Session, path string, opts ...lock.Option) (*lock.Lock, error) {
	return lock.NewSemaphore(s, path, 3, opts...)
}

func TestBadInputIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		w.Server.ClearJournal()
		for name, construct := range all {
			_, err := construct(nil, path)
			require.ErrorContains(w, err, name+": s: nil session")
			for _, bad := range []string{"", "locks", "/locks/", "/locks//a", "/locks/../a", "/a\x00b"} {
				_, err = construct(h.Session, bad)
				require.ErrorIs(w, err, session.ErrInvalidPath, "%q", bad)
				require.ErrorContains(w, err, "path")
			}
			_, err = construct(h.Session, path, nil)
			require.ErrorContains(w, err, "opts[0]: nil")
			_, err = construct(h.Session, path, lock.WithData([]byte("unlock")))
			require.ErrorContains(w, err, "data")
			for _, acl := range [][]session.ACL{nil, {{Perms: session.PermAll}}, {{Scheme: "world", ID: "anyone"}}, {{Perms: 64, Scheme: "world", ID: "anyone"}}} {
				_, err = construct(h.Session, path, lock.WithACL(acl...))
				require.ErrorIs(w, err, session.ErrInvalidACL)
				require.ErrorContains(w, err, "WithACL: acl: ")
			}
		}
		for _, permits := range []int{0, -1} {
			_, err := lock.NewSemaphore(h.Session, path, permits)
			require.ErrorContains(w, err, "permits: ")
		}
		_, err := lock.New(h.Session, "/", lock.WithLayout(lock.Simple))
		require.ErrorIs(w, err, session.ErrInvalidPath)
		require.ErrorIs(w, lock.Revoke(w.Context(), h.Session, "/locks/orders/foo"), session.ErrInvalidPath)
		require.ErrorContains(w, lock.Break(w.Context(), nil, path, 0), "nil session")
		_, err = w.lock(h, lock.WithData(make([]byte, 2<<20))).Lock(w.Context())
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.NotContains(w, w.Server.Dump(), "orders")
	})
}

// Options that do not go together, or say nothing.
func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		w.Server.ClearJournal()
		second := lock.WithDelay(time.Second)
		type row struct {
			construct string
			opt, with lock.Option
			is        error
			says      string
		}
		rows := []row{
			{"lock.New", lock.WithDelay(-1), nil, nil, "WithDelay: d: negative"},
			{"lock.NewWrite", second, nil, session.ErrUnsupported, ""},
			{"lock.NewSemaphore", second, nil, session.ErrUnsupported, ""},
			{"lock.New", lock.WithWeight(1), nil, nil, "WithWeight"},
			{"lock.NewRead", lock.WithWeight(1), nil, nil, "WithWeight"},
			{"lock.New", lock.WithData([]byte("unlocked")), nil, nil, "data"},
			{"lock.NewSemaphore", lock.WithData([]byte("held\n")), nil, nil, "data"},
			{"lock.NewSemaphore", lock.WithData([]byte("placed 4\nx")), nil, nil, "data"},
		}
		for _, layout := range []lock.Layout{lock.Simple, lock.Curator, lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper} {
			rows = append(rows, row{"lock.New", lock.WithLayout(layout), second, session.ErrUnsupported, ""})
		}
		for _, layout := range []lock.Layout{-1, 6, 1000} {
			rows = append(rows, row{"lock.New", lock.WithLayout(layout), nil, nil, "WithLayout: unknown layout"})
			require.Equal(w, fmt.Sprintf("Layout(%d)", int(layout)), layout.String())
		}
		for _, weight := range []int{0, -1, 4, 1 << 40} {
			rows = append(rows, row{"lock.NewSemaphore", lock.WithWeight(weight), nil, nil, "WithWeight: n: "})
		}
		for i, r := range rows {
			opts := []lock.Option{r.opt}
			if r.with != nil {
				opts = append(opts, r.with)
			}
			_, err := all[r.construct](h.Session, path, opts...)
			require.ErrorContains(w, err, r.says, "row %d", i)
			if r.is != nil {
				require.ErrorIs(w, err, r.is, "row %d", i)
			}
		}
		_, err := lock.New(h.Session, path, lock.WithDelay(0), lock.WithLayout(lock.Kazoo))
		require.NoError(w, err, "none at all")
		require.Equal(w, "Kazoo", lock.Kazoo.String())
		requests, _ := w.traffic()
		require.Zero(w, requests)

		l, err := lock.New(h.Session, path, lock.WithACL(session.AuthACL(session.PermAll)...)) // that it has no identity, the server says
		require.NoError(w, err)
		_, err = l.Lock(w.Context())
		require.ErrorIs(w, err, session.ErrInvalidACL)
	})
}

// Rule 9: constructors do no I/O, and what is nil is named.
func TestConstructorsDoNoIO(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		dials := 0
		s, err := session.New(w.Server.Hosts(), session.WithDialer(func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, errors.New("not now")
		}))
		require.NoError(w, err)
		l, err := lock.New(s, path)
		require.NoError(w, err)
		require.ErrorContains(w, l.Do(w.Context(), nil), "f: nil")
		time.Sleep(time.Minute)
		require.Zero(w, dials)
		require.NoError(w, s.Close(w.Context()))
		require.ErrorIs(w, l.Err(), session.ErrClosed)
		var oe *session.OpError
		require.ErrorAs(w, l.Err(), &oe)
	})
}
