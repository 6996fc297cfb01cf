// Package others starts workers that drive the locks of other libraries, Curator's and kazoo's, and
// write the same histories. They are used as carefully as those libraries allow: what is held
// counts as lost as soon as the library says that the connection is suspended or lost.
//
// A worker is given its name, its history's path, the servers, the session timeout in milliseconds,
// a seed, and the share of possessions that last about as long as a session. It reads the words of
// package work from its standard input.
package others
