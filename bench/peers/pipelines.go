//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/troupe-go/troupe/internal/jute"
	troupe "github.com/troupe-go/troupe/session"
)

// piped is how many znodes a cycle of the row pipeline creates, and then deletes.
const piped = 1000

// wire is a connection of the raw requests of the row pipeline: all frames go in one write.
type wire struct {
	net.Conn
	in  *bufio.Reader
	dir string
}

// pipeline is a contender that has a session of its own, until ctx ends.
func (b bare) pipeline(ctx context.Context, r *row, dir string) (contender, error) {
	w, err := b.dial(ctx, r, dir)
	return contender{func() error { return w.send(jute.OpCreate) }, func() error { return w.send(jute.OpDelete) }, nil}, err
}

// dial begins a session.
func (b bare) dial(ctx context.Context, r *row, dir string) (*wire, error) {
	conn, err := net.Dial("tcp", b.address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	w := &wire{conn, bufio.NewReaderSize(conn, 64<<10), dir}
	hello := jute.NewWriter(nil)
	hello.Begin()
	(&jute.ConnectRequest{Timeout: int32(r.timeout().Milliseconds()), Password: make([]byte, 16)}).Encode(hello)
	hello.End()
	_, err = w.Write(hello.Bytes())
	if err == nil {
		_, err = w.frame()
	}
	return w, err
}

func (w *wire) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(w.in, body)
	return body, err
}

// send does the same to all znodes.
func (w *wire) send(op jute.Op) error {
	var asks []jute.Request
	for i := range piped {
		asks = append(asks, jute.Request{
			Op: op, Path: fmt.Sprint(w.dir, "/", i), Data: []byte{}, Version: -1,
			ACL: []jute.ACL{{Perms: troupe.PermAll, Scheme: "world", ID: "anyone"}},
		})
	}
	return w.exchange(asks, func(*jute.Request, *jute.Reply) {})
}

// exchange writes all requests, and reads the replies meanwhile.
func (w *wire) exchange(asks []jute.Request, told func(ask *jute.Request, reply *jute.Reply)) error {
	frames := jute.NewWriter(nil)
	for i := range asks {
		asks[i].Xid = int32(i + 1)
		frames.Begin()
		asks[i].Encode(frames)
		frames.End()
	}
	written := make(chan error, 1)
	go func() { // ends with the write, at the latest when the connection is closed
		_, err := w.Write(frames.Bytes())
		written <- err
	}()
	for i := range asks {
		body, err := w.frame()
		if err != nil {
			return err
		}
		var reply jute.Reply
		in := jute.NewReader(body)
		if err := reply.DecodeHeader(in); err != nil {
			return err
		}
		if reply.Err != jute.OK {
			return reply.Err
		}
		if err := reply.DecodeBody(in, asks[i].Op); err != nil {
			return err
		}
		told(&asks[i], &reply)
	}
	return <-written
}

// pipeline is a contender that sends the same requests.
func (o ours) pipeline(ctx context.Context, dir string) (contender, error) {
	send := func(op func(path string) troupe.Op) func() error {
		return func() error {
			ops := make([]troupe.Op, piped)
			for i := range ops {
				ops[i] = op(fmt.Sprint(dir, "/", i))
			}
			_, err := o.Pipeline(ctx, ops...)
			return err
		}
	}
	create := send(func(path string) troupe.Op { return troupe.CreateOp(path, nil) })
	remove := send(func(path string) troupe.Op { return troupe.DeleteOp(path, -1) })
	return contender{create, remove, nil}, o.EnsurePath(ctx, dir)
}
