package consume_test

import (
	"fmt"
	"testing"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
)

// BenchmarkClaim claims and acknowledges an item of a long queue, beside 64 that others have.
func BenchmarkClaim(b *testing.B) {
	h := newHand(1)
	for n := range 40 {
		h.names[root.Items()] = append(h.names[root.Items()], fmt.Sprintf("0-%010d", n))
	}
	for n := range 500 {
		h.names[root.Items()+"/0-0000000000"] = append(h.names[root.Items()+"/0-0000000000"], fmt.Sprintf("01234567-89ab-cdef-queue-%010d", (n*337)%500))
	}
	for n := range 64 {
		h.names[root.Claims()+"/0-0000000000"] = append(h.names[root.Claims()+"/0-0000000000"], fmt.Sprintf("%010d", n))
	}
	h.run(machine.EpochBegan{Epoch: 1, Trusted: true}, nil)
	b.ReportAllocs()
	for no := uint64(1); b.Loop(); no++ {
		h.asked = nil
		h.run(consume.Command{No: no, What: consume.Ack}, nil)
	}
}
