// Package zktest is an in-process ZooKeeper for tests.
package zktest
