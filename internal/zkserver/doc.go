// Package zkserver is ZooKeeper in the process.
package zkserver
