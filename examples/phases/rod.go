package main

// rod is the points in every round. Each piece of a round is written once, by one worker, and read
// only by the workers of the next round.
type rod struct {
	rounds [][]float64
}

func newRod(points int) *rod {
	r := &rod{rounds: make([][]float64, rounds+1)}
	for i := range r.rounds {
		r.rounds[i] = make([]float64, points)
		r.rounds[i][0] = 1 // the hot end stays hot
	}
	return r
}

// step computes the points from up to to of a round.
func (r *rod) step(round, from, to int) {
	before, after := r.rounds[round], r.rounds[round+1]
	for i := max(from, 1); i < min(to, len(after)-1); i++ {
		after[i] = (before[i-1] + before[i+1]) / 2
	}
}

// after returns the rod after a number of rounds.
func (r *rod) after(rounds int) []float64 { return r.rounds[rounds] }

// alone computes a rod without workers.
func alone(points, rounds int) []float64 {
	r := newRod(points)
	for round := range rounds {
		r.step(round, 0, points)
	}
	return r.after(rounds)
}
