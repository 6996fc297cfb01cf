// Package proxy stands between a ZooKeeper client and a server and misbehaves as networks do.
// Unlike ensemble.Proxy it knows where messages begin and end, so that it can lose one single
// reply, and it knows who connects: the session's id and password, with which a rival can end that
// session.
package proxy
