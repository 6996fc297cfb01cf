package zkconn

// semaphore lets one goroutine at a time write, in order of asking. It is no mutex: those that wait
// can give up, and with virtual time (testing/synctest) they don't stop the clock while a write to
// a network that takes nothing waits for its deadline.
type semaphore chan struct{}

func newSemaphore() semaphore { return make(semaphore, 1) }

func (s semaphore) acquire() { s <- struct{}{} }
func (s semaphore) release() { <-s }
