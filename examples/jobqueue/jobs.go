package main

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/recipes/queue"
)

const (
	ordinary = 24
	urgent   = 3
	moody    = "moody"    // fails twice
	hopeless = "hopeless" // fails always
	later    = "later"    // delayed
	fatal    = "fatal"    // kills its first worker
)

// mood is how long the moody job wants to be left alone.
const mood = 200 * time.Millisecond

// putAll puts all jobs, the ordinary ones in one transaction.
func putAll(ctx context.Context, line *queue.Queue) error {
	var jobs [][]byte
	for i := range ordinary {
		jobs = append(jobs, fmt.Appendf(nil, "ordinary %d", i))
	}
	if _, err := line.PutAll(ctx, jobs); err != nil {
		return err
	}
	for i := range urgent {
		if _, err := line.Put(ctx, fmt.Appendf(nil, "urgent %d", i), queue.WithPriority(-1)); err != nil {
			return err
		}
	}
	for job, opts := range map[string][]queue.PutOption{
		moody: nil, hopeless: nil, fatal: {queue.WithPriority(-1)}, later: {queue.WithDelay(time.Second)},
	} {
		if _, err := line.Put(ctx, []byte(job), append(opts, queue.WithID(job))...); err != nil {
			return err
		}
	}
	return nil
}

// expected is the number of jobs that can be done.
const expected = ordinary + urgent + 3
