// Package work is what a worker process of a chaos run does: it uses Troupe's recipes as an
// application would, and writes down what it could truthfully claim.
package work
