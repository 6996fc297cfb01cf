// Package pace is the way between a client and the server: normally it takes no time, and on
// command it does. What one end sends arrives at the other after the latency, and no faster than
// the bandwidth allows; order is kept, and many frames can be under way at once, as on a real
// network.
package pace
