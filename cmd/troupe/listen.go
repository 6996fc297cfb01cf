package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// listen opens the sockets of all servers and prints their addresses.
func listen(ctx context.Context, s *zkserver.Server, out io.Writer, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	first, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q: %w", port, err)
	}
	var all, also []string
	for i := range s.Fronts() {
		number := first
		if first > 0 {
			number += uint64(i)
		}
		at, too, err := listenOne(ctx, s.Front(i), host, strconv.FormatUint(number, 10))
		if err != nil {
			return err
		}
		all, also = append(all, at), append(also, too...)
	}
	fmt.Fprintf(out, "listening on %s\n", strings.Join(all, ","))
	if len(also) > 0 {
		fmt.Fprintf(out, "and on %s\n", strings.Join(also, ","))
	}
	return nil
}

// listenOne opens the socket of one server, or two sockets for localhost if the system has IPv6.
func listenOne(ctx context.Context, f *zkserver.Front, host, port string) (at string, also []string, err error) {
	if host != "localhost" {
		at, err = f.Listen(ctx, net.JoinHostPort(host, port))
		return at, nil, err
	}
	if at, err = f.Listen(ctx, net.JoinHostPort("127.0.0.1", port)); err != nil {
		return "", nil, err
	}
	_, port, _ = net.SplitHostPort(at) // cannot fail: it is the address of a listener
	too := net.JoinHostPort("::1", port)
	switch err = f.ListenAlso(ctx, too); {
	case err == nil:
		also = []string{too}
	case errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT): // no IPv6 here
	default:
		return "", nil, err
	}
	return at, also, nil
}
