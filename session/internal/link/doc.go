// Package link is one ZooKeeper session over one connection of the client library.
package link
