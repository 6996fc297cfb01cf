package notify_test

// Offers that are received or withdrawn, never both.

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
)

func TestAnOfferIsReceivedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := notify.NewHandoff[int]()
		taken := 0
		o := h.Offer(7, func() { taken++ })
		synctest.Wait()
		require.Zero(t, taken)
		require.Equal(t, 7, <-h.C())
		synctest.Wait()
		require.Equal(t, 1, taken)
		require.False(t, o.Withdraw())
		require.False(t, o.Withdraw())
		select {
		case v := <-h.C():
			t.Fatalf("received %d again", v)
		default:
		}
	})
}

func TestAWithdrawnOfferIsNeverReceived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := notify.NewHandoff[int]()
		o := h.Offer(7, func() { t.Error("taken") })
		require.True(t, o.Withdraw())
		require.True(t, o.Withdraw())
		select {
		case v := <-h.C():
			t.Fatalf("received %d", v)
		case <-time.After(time.Hour):
		}
	})
}

// TestB38_AWithdrawalAndAReceiveAgree: whichever comes first, the offer is received or withdrawn,
// never both and never neither.
func TestB38_AWithdrawalAndAReceiveAgree(t *testing.T) {
	t.Parallel()
	h := notify.NewHandoff[int]()
	var received, withdrawn int
	for i := range 5000 {
		start := make(chan struct{})
		var taken atomic.Int32
		took := make(chan struct{})
		o := h.Offer(i, func() { taken.Add(1); close(took) })
		var all sync.WaitGroup
		got, stop := -1, make(chan struct{})
		all.Go(func() {
			<-start
			select {
			case got = <-h.C():
			case <-stop:
			}
		})
		var back bool
		all.Go(func() {
			<-start
			for range i % 8 { // a head start for the receiver, or none
				runtime.Gosched()
			}
			back = o.Withdraw()
			close(stop)
		})
		close(start)
		all.Wait()
		if back {
			withdrawn++
			require.Equal(t, -1, got, "withdrawn, and yet received")
			require.Zero(t, taken.Load())
			continue
		}
		received++
		require.Equal(t, i, got, "neither withdrawn nor received")
		<-took
		require.EqualValues(t, 1, taken.Load())
	}
	t.Logf("%d received, %d withdrawn", received, withdrawn)
}
