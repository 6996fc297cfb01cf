package main

import (
	"context"
	"fmt"
	"time"
)

// conclude hashes all files again in this process, compares the results, and prints a summary. It
// returns an error if anything differs.
func (p *parent) conclude(ctx context.Context, took time.Duration) error {
	results, err := p.board.all(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	serial, err := hashSerially(ctx, p.dir)
	if err != nil {
		return err
	}
	serially := time.Since(began)
	started, epochs, refused := p.pool.counts()
	wrong := verify(serial, results, refused)

	say := p.screen.say
	say("pool:    %d files, %s in %d batches, %.1fs; %d processes, %d sessions", len(serial), megabytes(total(serial)), len(results), took.Seconds(), started, epochs)
	say("chaos:   %s", p.chaos.summary())
	say("stale:   %d attempts to write after the loss of a lock or of the lead, each refused", len(refused))
	say("serial:  the same in one process that nobody kills, %.1fs", serially.Seconds())
	if len(wrong) == 0 {
		say("result:  every file once, same digests, no result by a stale holder")
		return nil
	}
	const most = 20
	for _, w := range wrong[:min(len(wrong), most)] {
		say("wrong:   %s", w)
	}
	return fmt.Errorf("%d differences from the serial run", len(wrong))
}

func total(digests []digest) int64 {
	var bytes int64
	for _, d := range digests {
		bytes += d.Size
	}
	return bytes
}
