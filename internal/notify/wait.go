package notify

import "context"

// Wait waits for something to be done, or ctx, whose cause it returns then. What is done is done,
// whatever has become of ctx.
func Wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return context.Cause(ctx)
	}
}
