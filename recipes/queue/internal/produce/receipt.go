package produce

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// receipt is what is believed of the producer's receipt.
type receipt struct {
	path    string
	made    bool
	alive   bool // its ephemeral child was created in this epoch
	known   bool // its version is
	version int32
}

// sign are the operations that write it for some puts.
func (r *receipt) sign(puts []*put, session int64) (set machine.Op, alive []machine.Op) {
	var data []byte
	for _, p := range puts {
		data = fmt.Appendf(data, "%d ", p.no)
	}
	if slices.ContainsFunc(puts, (*put).large) {
		data = append(data, bytes.Repeat([]byte(" "), ballast)...) // whoever reads it takes no notice
	}
	if !r.alive {
		alive = append(alive, machine.Op{Do: machine.Create, Path: fmt.Sprintf("%s/alive-%x", r.path, uint64(session)), Ephemeral: true})
	}
	return machine.Op{Do: machine.Set, Path: r.path, Data: data, Version: r.version}, alive
}

// signed: the transaction was carried out.
func (r *receipt) signed() {
	r.alive, r.known = true, true
	r.version++
}

// failed takes in that it could not be written.
func (r *receipt) failed(code machine.Code) {
	r.known = false
	if code == machine.NoNode {
		r.made, r.version = false, 0
		return
	}
	r.version = max(r.version, 1) // so that it is read
}

// onReceipt tells which puts in doubt were carried out. One that was not is carried out now: if the
// lost transaction turns up after all, one of the two finds the receipt changed.
func (m *Machine) onReceipt(ev machine.Seen) {
	if ev.Code != machine.Done {
		m.refused(ev.Err)
		return
	}
	m.tries = 0
	r := &m.receipt
	carried := strings.Fields(string(ev.Data))
	for _, p := range slices.Clone(m.puts) {
		switch {
		case slices.Contains(carried, strconv.FormatUint(p.no, 10)): // in doubt or not: one that was told again may have been on its way
			m.settle(p, nil)
		case !p.doubt:
		case !ev.Exists || ev.Stat.Version < r.version: // the server has deleted it meanwhile
			m.settle(p, ErrUnknown)
		default:
			p.doubt = false
		}
	}
	if !ev.Exists {
		m.forget()
	}
	r.made, r.known, r.version = ev.Exists, ev.Exists, ev.Stat.Version
}
